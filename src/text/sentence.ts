/** With a full stop, unless it ends with a mark already. */
export function sentence(text: string): string {
  return /[.?!…]$/.test(text) ? text : `${text}.`;
}
