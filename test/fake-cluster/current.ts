/** The cluster that runs in this process now: what stands in for the processes' surroundings asks it. */
import type { ApiServer } from './api-server.ts';
import type { Disk } from './disk.ts';
import { Process } from './process.ts';
import { surroundings } from '../simulate/current.ts';

export interface Current {
  readonly api: ApiServer;
  diskOf(node: string): Disk;
  log(process: string, line: string): void;
}

let current: Current | undefined;

export function enterCluster(entered: Current | undefined): void {
  current = entered;
}

export function cluster(): Current {
  if (current === undefined) throw new Error('No cluster runs.');
  return current;
}

export function hereProcess(): Process {
  const { owner } = surroundings().loop;
  if (!(owner instanceof Process)) throw new Error('No process runs this.');
  return owner;
}
