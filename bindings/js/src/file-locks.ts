/// <reference types="node" />
// Locks of files in Node, which has no flock. A lock belongs to an open file,
// not to a process: so a child that inherits a descriptor of ours locks our
// file, and the lock stays ours when the child has ended.

import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { UnsupportedError } from './errors.js';
import type { NodeFileSystem } from './file-system.js';
import { OPEN, type FileLock } from './files.js';
import { coprocess } from './lock-process.js';

/** Waits for the lock of a file, until the signal. */
export type Locker = (files: NodeFileSystem, name: string, exclusive: boolean, signal: AbortSignal) => Promise<FileLock>;

/** How long one who wants the lock alone waits before readers make way, in milliseconds: longer than a child takes to start. */
const PATIENCE = 25;

/**
 * By the command `flock` of util-linux or BusyBox, a child a lock. As Gridhold's other libraries have it, one who waits
 * to have the lock alone holds a lock on NAME.gate, and readers pass through that file first.
 */
export const flock: Locker = async (files, name, exclusive, signal) => {
  for (;;) {
    if (!exclusive) await passGate(files, name, signal);
    const fd = files.descriptor(name, OPEN.read | OPEN.write | OPEN.create);
    try {
      await (exclusive ? alone(files, name, fd, signal) : locked(name, fd, false, signal));
      if (leadsTo(files, name, fd)) return { release: () => fs.closeSync(fd) };
    } catch (error) {
      fs.closeSync(fd);
      throw error;
    }
    fs.closeSync(fd); // it was removed or replaced while we waited
  }
};

/** How files are locked. */
export const lockers = {
  flock,
  /** By `gridhold lock --stdio`, a process that holds the locks of this one; it has to be installed. */
  coprocess,
  /** By whichever of them there is. Rejects with UnsupportedError where there is none. */
  any: (async (files, name, exclusive, signal) => {
    if (process.platform !== 'win32' && !withoutFlock) {
      try {
        return await flock(files, name, exclusive, signal);
      } catch (error) {
        if (!(error instanceof MissingCommand)) throw error;
        withoutFlock = true;
      }
    }
    return coprocess()(files, name, exclusive, signal);
  }) satisfies Locker as Locker,
};

let withoutFlock = false;

class MissingCommand extends UnsupportedError {}

/** Waits for the lock; after a while in the gate. */
async function alone(files: NodeFileSystem, name: string, fd: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const gate = waitInGate(files, `${name}.gate`, over.signal);
  try {
    await locked(name, fd, true, signal);
  } finally {
    over.abort();
    await gate;
  }
}

/** Makes readers wait until the signal. Nothing but fairness rests on it, so no failure counts. */
async function waitInGate(files: NodeFileSystem, gate: string, over: AbortSignal): Promise<void> {
  const later = () => sleep(PATIENCE, undefined, { signal: over }).catch(() => {});
  for (await later(); !over.aborted; await later()) {
    let fd = -1;
    try {
      fd = files.descriptor(gate, OPEN.read | OPEN.write | OPEN.create);
      if (!(await locked(gate, fd, true)) || !leadsTo(files, gate, fd)) continue; // another is in it, or has just left
      if (!over.aborted) await new Promise((resolve) => over.addEventListener('abort', resolve, { once: true }));
      files.remove(gate);
    } catch {
      return; // mostly because the directory takes no files
    } finally {
      if (fd >= 0) fs.closeSync(fd);
    }
  }
}

async function passGate(files: NodeFileSystem, name: string, signal: AbortSignal): Promise<void> {
  let fd: number;
  try {
    fd = files.descriptor(`${name}.gate`, OPEN.read);
  } catch {
    return; // mostly because there is none
  }
  try {
    await locked(name, fd, false, signal);
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Lets a child lock an open file of ours; whether it did. Without a signal it does not wait, and it is not stopped either:
 * who stops it does not learn whether it had the lock.
 */
function locked(name: string, fd: number, exclusive: boolean, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const args = [exclusive ? '-x' : '-s', ...(signal ? [] : ['-n']), '3'];
    const child = spawn('flock', args, { stdio: ['ignore', 'ignore', 'ignore', fd] });
    const leave = () => child.kill('SIGKILL');
    signal?.addEventListener('abort', leave, { once: true });
    child.once('error', (cause) => {
      signal?.removeEventListener('abort', leave);
      reject(new MissingCommand(`lock: ${name}: there is no command flock: ${cause.message}`, { item: name, cause }));
    });
    child.once('exit', (status) => {
      signal?.removeEventListener('abort', leave);
      if (status === 0) resolve(true);
      else if (status === 1 && !signal) resolve(false);
      else if (signal?.aborted) reject(signal.reason as Error);
      else reject(new UnsupportedError(`lock: ${name}: the file system cannot lock (flock: ${status}); open without locking if nobody else writes`, { item: name }));
    });
  });
}

function leadsTo(files: NodeFileSystem, name: string, fd: number): boolean {
  const ours = fs.fstatSync(fd, { bigint: true });
  try {
    const now = files.stat(name);
    return now.dev === ours.dev && now.ino === ours.ino;
  } catch {
    return false;
  }
}
