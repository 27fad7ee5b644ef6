import { Socket, type SocketConstructorOpts } from 'node:net';
import { landing } from './lent-chunks.ts';

/** A TCP socket whose bytes land in `landing` and are announced to `onLanded`: no buffer is made for them. */
export class DirectSocket extends Socket {
  readonly #receiver: Receiver;

  constructor(options: SocketConstructorOpts, receiver: Receiver = { onLanded: undefined }) {
    super({
      ...options,
      onread: {
        buffer: landing,
        callback: (length) => {
          receiver.onLanded?.(length);
          return true;
        },
      },
    });
    this.#receiver = receiver;
  }

  /** To be set before the socket's first turn of the event loop ends. The bytes are there within the call only. */
  set onLanded(onLanded: (length: number) => void) {
    this.#receiver.onLanded = onLanded;
  }
}

interface Receiver {
  onLanded: ((length: number) => void) | undefined;
}

/**
 * The same connection as a direct socket. A server makes its sockets itself, without a way to say where they read; so the
 * handle is taken over, which Node.js does not document. Where it has none, the accepted socket is used as it is.
 * The server must have `pauseOnConnect`, so that nothing has been read yet.
 */
export function takeOver(accepted: Socket): Socket {
  // Not in the types since it is not documented; whether it is there is looked at. The types know one other kind of handle.
  const holder = accepted as unknown as { _handle?: SocketConstructorOpts['handle'] | null };
  const handle = holder._handle;
  if (handle === undefined || handle === null) return accepted;
  holder._handle = null;
  return new DirectSocket({ handle, allowHalfOpen: true });
}
