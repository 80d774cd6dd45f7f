// What a page and the worker that keeps its private files tell each other.

import type { CodeName } from './abi.js';

/** What the worker is asked, and what it answers. Offsets and sizes in bytes. */
export interface PrivateFiles {
  open(name: string, flags: number): number;
  stat(name: string): PrivateStat;
  rename(from: string, to: string, replace: boolean): void;
  remove(name: string): void;
  mkdir(name: string): void;
  names(name: string): string[];
  free(): number;
  readAt(file: number, length: number, off: number): Uint8Array<ArrayBuffer>;
  writeAt(file: number, bytes: Uint8Array, off: number): void;
  truncate(file: number, size: number): void;
  sync(file: number): void;
  statFile(file: number): PrivateStat;
  lockRange(file: number, off: bigint, mode: number): void;
  close(file: number): void;
}

/** What is told of a file or directory. */
export interface PrivateStat {
  size: number;
  /** Milliseconds. */
  mtime: number;
  ino: number;
  links: number;
  directory: boolean;
}

export interface Asked {
  id: number;
  call: keyof PrivateFiles;
  args: unknown[];
}

export type Told = { id: number; value: unknown } | { id: number; code: CodeName; text: string };
