import type { IncomingHttpHeaders } from 'node:http';
import type { Process } from './process.ts';

/** Handler that undici's dispatcher receives, and calls. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: Buffer | null;
}

export interface Controller {
  abort(error: Error): void;
}

export interface Handler {
  onRequestStart(controller: Controller): void;
  onResponseStart(controller: Controller, status: number, headers: IncomingHttpHeaders): void;
  onResponseData(controller: Controller, chunk: Buffer): void;
  onResponseEnd(): void;
  onResponseError(controller: Controller | undefined, cause: Error): void;
}

/** One request of a process, until it is answered or given up. */
export class Exchange implements Controller {
  readonly process: Process;
  readonly handler: Handler;
  over = false;
  onOver: () => void = () => {};

  constructor(process: Process, handler: Handler) {
    this.process = process;
    this.handler = handler;
  }

  abort(): void {
    this.finish();
  }

  finish(): boolean {
    if (this.over) return false;
    this.over = true;
    this.onOver();
    return true;
  }
}
