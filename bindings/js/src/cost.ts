/** What reads of an array cost so far. What went on side by side is added up, so that times may be more than went by. */
export interface Cost {
  /** Requests to servers, made by an HTTP store; 0 where the store is one of the caller's. */
  requests: number;
  /** Calls to the store for chunks and subchunks. */
  reads: number;
  /** Calls to the store for indexes of shards. */
  indexLoads: number;
  /** Bytes that the store gave. */
  bytes: number;
  /** For an index that another read loads, for a turn among requests, before another try. */
  waits: number;
  decodes: number;
  /** Bytes that were decoded. */
  elements: number;
  /** Of any of these. */
  failures: number;
  /** Microseconds spent in requests. */
  requestingUs: number;
  /** In reads and index loads, requests and waits included. */
  readingUs: number;
  waitingUs: number;
  decodingUs: number;
}

/** @internal By the names that the guest has. */
export function costOf(told: Record<string, number>): Cost {
  const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(told).map(([name, n]) => [camel(name), n])) as unknown as Cost;
}
