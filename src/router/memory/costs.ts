import { limitTable } from '../../limits/table.ts';

/** What things cost in memory while they are idle, in bytes, about. */

/** A connection with its two ends, sockets or streams; a peer's TLS connection. */
export const COST = { connection: 8_192, peer: 98_304 } as const;

/** What TLS adds to an end of a connection: its state and buffers, most of which are OpenSSL's. */
export const TLS_COST = 57_344;

/** What it takes besides, at most, once much has come at once: OpenSSL's input is made of pages that are used when they are filled, and kept then. */
export const TLS_FEED_COST = limitTable.tlsBuffer.value;

/** A TLS handshake, of which OpenSSL has so much that it goes on. */
export const HANDSHAKE_COST = 81_920;

/** A stream, with nothing behind it. */
export const STREAM_COST = 1_024;

/** A piece of data that waits, besides its length. */
export const PIECE_COST = 256;
