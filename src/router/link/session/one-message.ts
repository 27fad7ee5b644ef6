import { LinkError } from '../link-errors.ts';
import type { ResponseHead, Stream, StreamHandler, StreamReset } from '../../http2/contract.ts';
import { MessageReader } from './framing.ts';

/** Waits for the one framed message that a request, or its answer, has as its body. */
export class OneMessage implements StreamHandler {
  readonly message: Promise<Buffer>;
  readonly #resolve: (message: Buffer) => void;
  readonly #reject: (error: LinkError) => void;
  readonly #reader = new MessageReader(16_384);
  readonly #timer: NodeJS.Timeout;
  #stream: Stream | undefined;
  readonly #refused: (head: ResponseHead) => LinkError;

  /** @param refused what an answer other than 200 means */
  constructor(deadline: number, refused: (head: ResponseHead) => LinkError) {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    this.message = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#refused = refused;
    this.#timer = setTimeout(() => this.#fail(new LinkError('timeout', `The peer said nothing within ${deadline / 1_000} s.`)), deadline);
    const stop = (): void => clearTimeout(this.#timer);
    promise.then(stop, stop);
  }

  use(stream: Stream): void {
    this.#stream = stream;
  }

  onResponse(head: ResponseHead): void {
    if (head.status !== 200) this.#fail(this.#refused(head));
  }

  onData(chunk: Buffer): void {
    this.#stream?.consumed(chunk.length);
    try {
      const [message] = this.#reader.push(chunk);
      if (message !== undefined) this.#resolve(message);
    } catch (error) {
      this.#fail(error instanceof LinkError ? error : new LinkError('protocol', 'The peer sent what is no message.', error));
    }
  }

  onEnd(): void {
    this.#fail(new LinkError('protocol', 'The peer ended the stream without a message.'));
  }

  onDrain(): void {}

  onReset(reason: StreamReset): void {
    this.#fail(new LinkError('lost', `The stream was reset: ${reason.reason}.`));
  }

  #fail(error: LinkError): void {
    this.#reject(error);
  }
}
