/** earshot(1): the program's own help as a manual page (man(7)). */
import { listCommands } from '../cli-manual.ts';
import { VERSION } from '../../src/version.ts';

export function manualPage(date: Date): string {
  const sections = listCommands().map(({ name, help }) => `.SS "${escaped(name)}"\n.nf\n${help.split('\n').map(escaped).join('\n')}\n.fi`);
  return `.TH EARSHOT 1 "${date.toISOString().slice(0, 10)}" "Earshot ${VERSION}"
.SH NAME
earshot \\- put workloads within reach: services across sites, and addresses for pods
.SH SYNOPSIS
.B earshot
.I command
[options]
.SH DESCRIPTION
Each command explains itself with
.BR \\-\\-help .
.SH COMMANDS
${sections.join('\n')}
`;
}

/** A line that begins with a period or an apostrophe would be a request, and a backslash begins an escape. */
function escaped(line: string): string {
  return line
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/, '\\&');
}
