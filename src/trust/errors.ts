import { EarshotError } from '../errors/earshot-error.ts';
import type { TrustCode, TrustProblem } from './contract.ts';

/** Everything that this room throws. The message is a clause without a full stop, which whoever shows it puts into a sentence. */
export class TrustError extends EarshotError<TrustCode> {
  get problem(): TrustProblem {
    return { code: this.code, message: this.message };
  }
}
