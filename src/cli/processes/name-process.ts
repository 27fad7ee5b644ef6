import { writeFileSync } from 'node:fs';

/**
 * What `top`, `ss -p` and the message that a port is in use call this process. Its command line stays as it is: `process.title` would write over it,
 * and with it over what `ps` and `pgrep -f` find a site by.
 */
export function nameProcess(): void {
  try {
    writeFileSync('/proc/self/comm', 'earshot');
  } catch {
    // Only Linux has it.
  }
}
