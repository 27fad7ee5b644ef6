/** Input and output of a command: the process's own streams, or a test's. */
export interface Terminal {
  /** Writes a result to standard output. */
  out(text: string): void;
  /** Writes progress, hints and errors to standard error. */
  note(text: string): void;
  /** Reads all of standard input. */
  input(): Promise<string>;
  /** Whether standard output is a terminal. */
  readonly isScreen?: boolean;
}

const MOST_INPUT = 16 * 1024 * 1024;

export const processTerminal: Terminal = {
  isScreen: process.stdout.isTTY,
  out: (text) => void process.stdout.write(text),
  note: (text) => void process.stderr.write(text),
  input: async () => {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of process.stdin) {
      const bytes = Buffer.from(chunk);
      length += bytes.length;
      if (length > MOST_INPUT) throw new Error(`standard input has more than ${MOST_INPUT} bytes; split it`);
      chunks.push(bytes);
    }
    return Buffer.concat(chunks).toString('utf8');
  },
};
