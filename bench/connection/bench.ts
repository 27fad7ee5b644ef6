import type { Authority, Host, Program } from '../../test/net/harness/index.ts';
import type { Options, SystemName } from './options.ts';

/** Servers' ports on 127.0.0.1, and those of the systems' listeners in front of them. */
export const PORTS = { iperf3: 5201, http: 8000, echo: 7000 } as const;
export type Service = keyof typeof PORTS;
export const SERVICES: readonly Service[] = ['iperf3', 'http', 'echo'];

/** How far from the servers' ports each of the systems' own are. */
export const OFFSETS = {
  haproxy: 100,
  haproxyLink: 200,
  haproxyDelayedLink: 300,
  earshot: 400,
  earshotUnobserved: 500,
  earshotFar: 600,
  rathole: 700,
  ratholeLink: 800,
} as const;

export function portsAt(offset: number): Readonly<Record<Service, number>> {
  return { iperf3: PORTS.iperf3 + offset, http: PORTS.http + offset, echo: PORTS.echo + offset };
}

/** Environment of all measurements. */
export interface Bench {
  /** One host, on whose loopback all of it happens: nothing else has connections, rules or settings there. */
  readonly host: Host;
  readonly authority: Authority;
  /** Earshot's program. */
  readonly program: string;
  readonly options: Options;
  /** Adds a sample to a figure; see figures.ts for their ids. */
  readonly record: (id: string, system: SystemName, sample: number) => void;
  readonly log: (line: string) => void;
}

/** A system that runs: where clients find each service, and the programs that carry it. */
export interface Running extends AsyncDisposable {
  readonly name: SystemName;
  readonly ports: Readonly<Record<Service, number>>;
  /** By whose side of the link they are; none for `direct`. */
  readonly ends: { readonly client: Program; readonly server: Program } | undefined;
  /** Earshot's, whose listener has no observer. */
  readonly unobservedHttp?: number;
}

export interface System {
  readonly name: SystemName;
  /** Fresh processes. */
  start(): Promise<Running>;
  /** Like start, but the link goes through the bench's delay: left out where there is no link. */
  startDelayed?(): Promise<Running>;
}

/** Programs of the bench's own run in a process of their own each. */
export function ownProgram(name: string): readonly string[] {
  return [process.execPath, `${import.meta.dirname}/programs/${name}.ts`];
}
