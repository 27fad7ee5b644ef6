/**
 * Stands for the handles below TLS: none can be had here, so that handshakes are read as they come. To read them in turns is a matter of the
 * processor's time, of which a world knows nothing, and of all routers of a process together.
 */
export const readHandleOf = (): undefined => undefined;
