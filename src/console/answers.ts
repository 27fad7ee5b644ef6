/** Writes answers of the console, and reads the bodies of its requests. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ShownAs } from '../errors/catalogue.ts';
import { limitTable } from '../limits/table.ts';
import type { UserAccess } from './access.ts';
import { failure, type Answer } from './api.ts';

export function answer(response: ServerResponse, { status, body, allow }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json', ...(allow === undefined ? {} : { allow }) });
  response.end(`${JSON.stringify(body)}\n`);
}

/** Ends the connection too, so that clients without access cannot hold connections open. */
export function refuse(response: ServerResponse, status: number, code: ShownAs<'answer'>, message: string): void {
  response.setHeader('connection', 'close');
  answer(response, failure(status, code, message));
}

export function notAllowed(allow: string): Answer {
  return { ...failure(405, 'usage', 'this path does not support the method', `Use ${allow}.`), allow };
}

export function challenge(response: ServerResponse, users: UserAccess | undefined): void {
  if (users === undefined) response.setHeader('www-authenticate', 'Bearer');
  response.setHeader('connection', 'close');
  if (users === undefined) return answer(response, failure(401, 'signed-out', 'the request has no valid bearer token'));
  answer(response, failure(401, 'signed-out', users.signedOut.message, users.signedOut.do));
}

/** @returns undefined for a body that is too long or is not JSON */
export async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > limitTable.consoleBody.value) return undefined;
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
