import { bounded } from '../../../telemetry/boundary.ts';
import { LinkError } from '../link-errors.ts';
import type { ResponseHead, Stream, StreamHandler, StreamReset } from '../../../http2/contract.ts';
import { MessageReader } from './framing.ts';

/** Receives the single framed message in the body of a request or response. */
export class OneMessage implements StreamHandler {
  readonly #answer = Promise.withResolvers<Buffer>();
  readonly message = this.#answer.promise;
  readonly #end = Promise.withResolvers<void>();
  /** Resolves when the stream ends after the message. */
  readonly ended = this.#end.promise;
  readonly #reader = new MessageReader(16_384);
  #stream: Stream | undefined;
  readonly #refused: (head: ResponseHead) => LinkError;

  /** @param refused converts a response other than 200 to an error */
  constructor(deadline: number, refused: (head: ResponseHead) => LinkError) {
    this.#refused = refused;
    const late = (): void => this.#answer.reject(new LinkError('timeout', `The peer sent nothing within ${deadline / 1_000} s.`));
    const timer = setTimeout(bounded('stream/message-deadline', late, late), deadline);
    const stop = (): void => clearTimeout(timer);
    this.message.then(stop, stop);
    // Avoids an unhandled rejection if no caller waits for it.
    this.ended.catch(() => {});
  }

  use(stream: Stream): void {
    this.#stream = stream;
  }

  onResponse(head: ResponseHead): void {
    if (head.status !== 200) this.#answer.reject(this.#refused(head));
  }

  onData(chunk: Buffer): void {
    this.#stream?.consumed(chunk.length);
    try {
      const [message] = this.#reader.push(chunk);
      if (message !== undefined) this.#answer.resolve(message);
    } catch (error) {
      this.#answer.reject(error instanceof LinkError ? error : new LinkError('protocol', 'The peer sent an invalid message.', error));
    }
  }

  onEnd(): void {
    this.#end.resolve();
    this.#answer.reject(new LinkError('protocol', 'The peer ended the stream without a message.'));
  }

  onDrain(): void {}

  onReset(reason: StreamReset): void {
    const error = new LinkError('lost', `The stream was reset: ${reason.reason}.`);
    this.#answer.reject(error);
    this.#end.reject(error);
  }
}
