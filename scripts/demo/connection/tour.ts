import type { Program } from '../../../test/harness/program.ts';
import type { Narrator } from '../narrator.ts';
import type { Playground } from './playground.ts';

/** What every step works with. */
export interface Tour {
  readonly narrator: Narrator;
  readonly playground: Playground;
  readonly ports: Ports;
  /** The command of the client in front of west. */
  readonly curl: string;
}

export interface Ports {
  /** Of the web server, behind east. */
  readonly server: number;
  /** Where west listens for clients. */
  readonly listener: number;
  /** Where east accepts links. */
  readonly link: number;
  /** Where tokens of east are redeemed. */
  readonly grant: number;
}

export const PORTS: Ports = { server: 8080, listener: 8081, link: 55_671, grant: 9090 };

/** What the web server says. */
export const GREETING = 'hello from behind east';

/** curl's exit code for a refused connection (https://curl.se/docs/manpage.html, EXIT CODES). */
export const REFUSED = 7;

/** Clients get through again, or for the first time. */
export async function untilServed({ narrator, playground, curl }: Tour, statement: string): Promise<void> {
  await narrator.until(
    statement,
    async () => {
      const { code, output } = await playground.attempt(curl);
      return { found: code === 0 && output.trim() === GREETING ? true : undefined, seen: output.trim() };
    },
    WAIT,
  );
}

/** The listener's port is closed. */
export async function untilRefused({ narrator, playground, curl }: Tour, statement: string): Promise<void> {
  await narrator.until(
    statement,
    async () => {
      const { code, output } = await playground.attempt(curl);
      return { found: code === REFUSED ? true : undefined, seen: output.trim() };
    },
    WAIT,
  );
  const { code, output } = await playground.runToFail(curl);
  narrator.claim(statement, code === REFUSED, `exit code ${code}: ${output}`);
}

/** Shows what a command prints, from the moment on that it says what is claimed: a status follows within a second. */
export async function show({ narrator, playground }: Tour, command: string, says: RegExp, statement: string): Promise<void> {
  const output = await narrator.until(
    statement,
    async () => {
      const seen = await playground.attempt(command);
      return { found: seen.code === 0 && says.test(seen.output) ? seen.output : undefined, seen: seen.output };
    },
    WAIT,
  );
  narrator.command(command);
  narrator.output(output, { head: 40 });
  narrator.claim(statement, says.test(output), output);
}

/** Starts the site of a namespace, and waits until it says that it runs. */
export async function startSite(
  { narrator, playground }: Pick<Tour, 'narrator' | 'playground'>,
  namespace: string,
  log = namespace,
): Promise<Program> {
  const site = await playground.start(`earshot -n ${namespace} run`, log);
  await narrator.until(
    `the site ${namespace} runs`,
    async () => {
      const { code, output } = await playground.attempt(`grep -q '"message":"running"' ${log}.log`);
      return { found: code === 0 ? true : undefined, seen: output };
    },
    WAIT,
  );
  return site;
}

const WAIT = 20;
