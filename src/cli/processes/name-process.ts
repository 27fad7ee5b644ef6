import { writeFileSync } from 'node:fs';

/**
 * Sets the name of this process in `top`, `ss -p` and messages about a used port. `process.title` is not used because it would
 * overwrite the command line, by which `ps` and `pgrep -f` find a site.
 */
export function nameProcess(): void {
  try {
    writeFileSync('/proc/self/comm', 'earshot');
  } catch {
    // Only Linux has this file.
  }
}
