import type { Random } from '../../../bench/routing/random.ts';
import type { Keyring } from './shown.ts';

/** Resources of an attack. */
export interface Fight {
  readonly host: string;
  readonly port: number;
  readonly keys: Keyring;
  readonly random: Random;
  /** Milliseconds that are left. */
  rest(): number;
  /** Whether one more case is to be done; counts it. */
  more(): boolean;
  /** Result of a case. */
  tell(what: string): void;
}
