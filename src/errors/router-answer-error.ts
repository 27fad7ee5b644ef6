import { EarshotError } from './earshot-error.ts';

/** A router's API answered 404: an older router lacks the path, or the object does not exist there. */
export class NotAtRouter extends EarshotError<'not-found'> {}

/** Error for an answer of a router's API. @param status none of success @param text beginning of the answer */
export function routerAnswerError(status: number, text: string): Error {
  const message = `the response has status ${status}: ${text}`;
  return status === 404 ? new NotAtRouter('not-found', message) : new Error(message);
}
