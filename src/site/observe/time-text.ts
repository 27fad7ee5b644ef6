/** Formats a time after RFC 3339, to the second. @param milliseconds since 1970 */
export function timeText(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}
