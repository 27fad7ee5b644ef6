import { request } from 'undici';

/** True where a health endpoint says 200 within a second. */
export async function answers(url: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(url, { signal: AbortSignal.timeout(1_000), reset: true });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}
