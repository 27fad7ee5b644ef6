/**
 * Files of the installed program, below a prefix such as `/usr`: one layout for the tarball and the packages.
 *
 *     bin/earshot                  starts the program with its own Node.js
 *     lib/earshot/node             the pinned Node.js
 *     lib/earshot/earshot.mjs      the program, one file
 *     lib/systemd/system/...       template of a unit, with the paths of the packages
 *     share/...                    completions, man page, licences
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Bundle } from '../bundle.ts';
import { withoutDebugSections } from '../image/elf.ts';
import type { TarEntry } from '../image/tar.ts';
import { manualPage } from './manual-page.ts';
import { pinnedNode, type Architecture } from './pinned-node.ts';
import { instanceName, unitTemplate } from '../../src/cli/actions/systemd-unit.ts';
import { completionScripts } from '../../src/cli/commands/completion.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

const UNIT_COMMAND = ['/usr/lib/earshot/node', '/usr/lib/earshot/earshot.mjs'];
const DRAIN_SECONDS = 30;

/** Follows links, so that `/usr/local/bin/earshot` may be a link into an unpacked tarball. */
const LAUNCHER = `#!/bin/sh
lib=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")/lib/earshot
exec "$lib/node" "$lib/earshot.mjs" "$@"
`;

export async function programTree({ code, notices }: Bundle, architecture: Architecture, date: Date): Promise<readonly TarEntry[]> {
  const node = await pinnedNode(architecture);
  const file = (at: string, content: Buffer | string, executable = false): TarEntry => ({
    type: 'file',
    path: at,
    content: Buffer.from(content),
    executable,
  });
  return [
    file('bin/earshot', LAUNCHER, true),
    file('lib/earshot/node', withoutDebugSections(await readFile(path.join(node, 'bin/node'))), true),
    file('lib/earshot/earshot.mjs', code),
    file(`lib/systemd/system/${instanceName('')}`, unitTemplate(UNIT_COMMAND, DRAIN_SECONDS)),
    file('share/bash-completion/completions/earshot', completionScripts.bash),
    file('share/zsh/vendor-completions/_earshot', completionScripts.zsh),
    file('share/fish/vendor_completions.d/earshot.fish', completionScripts.fish),
    file('share/man/man1/earshot.1', manualPage(date)),
    file('share/doc/earshot/LICENSE', await readFile(path.join(ROOT, 'LICENSE'))),
    file('share/doc/earshot/CHANGELOG.md', await readFile(path.join(ROOT, 'CHANGELOG.md'))),
    file('share/doc/earshot/THIRD-PARTY-LICENSES', notices),
    file('share/doc/earshot/LICENSE.node', await readFile(path.join(node, 'LICENSE'))),
  ];
}
