/// <reference types="node" />
// Locks that another process holds for this one: `gridhold lock --stdio`,
// started at the first lock. It takes and answers lines of JSON, and ends, with
// all its locks, when this process does.

import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { createInterface } from 'node:readline';

import { ClosedError, IOError, UnsupportedError, errorOf } from './errors.js';
import type { Locker } from './file-locks.js';

interface Reply {
  id: number;
  code?: number;
  text?: string;
}

class LockProcess {
  #child: ChildProcessWithoutNullStreams;
  #waiting = new Map<number, { resolve: () => void; reject: (error: Error) => void }>();
  #last = 0;
  #ended: Error | undefined;

  constructor(command: string) {
    this.#child = spawn(command, ['lock', '--stdio'], { stdio: ['pipe', 'pipe', 'ignore'] }) as unknown as ChildProcessWithoutNullStreams;
    this.#child.once('error', (cause) =>
      this.#end(new UnsupportedError(`lock: there is neither a command flock nor a command ${command}: ${cause.message}`, { cause })));
    this.#child.once('exit', (status) => this.#end(new IOError(`lock: ${command} has ended (${status})`)));
    this.#child.stdin.on('error', () => {}); // its exit says it
    createInterface(this.#child.stdout).on('line', (line) => this.#answered(JSON.parse(line) as Reply));
    this.#keepAlive();
  }

  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** Takes a lock and gives the number to give it back by. */
  async lock(path: string, exclusive: boolean, signal: AbortSignal): Promise<number> {
    const id = ++this.#last;
    const leave = () => this.#say({ id, cancel: true });
    signal.addEventListener('abort', leave, { once: true });
    try {
      await this.#ask({ id, path, exclusive });
      return id;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  /** Nothing is waited for: the process takes one line after the other. */
  unlock(id: number): void {
    if (this.#ended !== undefined) throw new ClosedError('lock: it ended with the process that held it', { cause: this.#ended });
    this.#say({ id, unlock: true });
  }

  #ask(request: { id: number; path: string; exclusive: boolean }): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(this.#ended);
      this.#waiting.set(request.id, { resolve, reject });
      this.#keepAlive();
      this.#say(request);
    });
  }

  #say(request: object): void {
    if (this.#ended === undefined) this.#child.stdin.write(`${JSON.stringify(request)}\n`);
  }

  #answered({ id, code = 0, text = '' }: Reply): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    this.#keepAlive();
    if (code === 0) waiting?.resolve();
    else waiting?.reject(errorOf(code, text));
  }

  /** This process lives on while it waits for an answer, and for nothing else. */
  #keepAlive(): void {
    const parts = [this.#child, this.#child.stdin, this.#child.stdout] as unknown as { ref?(): void; unref?(): void }[];
    for (const part of parts) this.#waiting.size > 0 ? part.ref?.() : part.unref?.();
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
  }
}

const processes = new Map<string, LockProcess>();

/** Locks by `COMMAND lock --stdio`. One process a command serves all. */
export function coprocess(command = 'gridhold'): Locker {
  return async (files, name, exclusive, signal) => {
    let running = processes.get(command);
    if (running === undefined || running.ended) processes.set(command, (running = new LockProcess(command)));
    const held = running;
    const id = await held.lock(files.path(name), exclusive, signal);
    return { release: () => held.unlock(id) };
  };
}
