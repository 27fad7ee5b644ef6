/** Stands for `node:https` in the agent: tokens are made and redeemed before a world begins. */
function nobody(): never {
  throw new Error('Tokens are not simulated.');
}

export const createServer = nobody;
export const request = nobody;
