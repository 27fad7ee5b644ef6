import { EarshotError } from './earshot-error.ts';

/** The user lacks a right, or a certificate. It is not a problem of the site. */
export class NotReadable extends EarshotError<'not-permitted'> {
  /** Sentence for the user. */
  readonly remedy: string;

  constructor(message: string, remedy = 'Ask an administrator of the cluster for this right.') {
    super('not-permitted', message);
    this.remedy = remedy;
  }
}
