import { limitTable } from '../limits/table.ts';

/** Approximate memory cost of idle objects in bytes. */

/** Cost of a connection with its two ends (sockets or streams), and of a peer's TLS connection. */
export const COST = { connection: 8_192, peer: 98_304 } as const;

/** Additional cost of TLS at one end of a connection: its state and buffers, mostly in OpenSSL. */
export const TLS_COST = 57_344;

/** Further maximum cost of TLS after much data arrived at once: OpenSSL keeps the pages of its input once they were filled. */
export const TLS_FEED_COST = limitTable.tlsBuffer.value;

/** Cost of a TLS handshake in progress, mostly in OpenSSL. */
export const HANDSHAKE_COST = 81_920;

/** Cost of a stream without anything behind it. */
export const STREAM_COST = 1_024;

/** Cost of a piece of waiting data, besides its length. */
export const PIECE_COST = 256;
