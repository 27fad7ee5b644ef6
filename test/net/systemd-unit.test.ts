/** The units that `earshot system install` writes, judged by systemd itself, which need not run for that. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { RouterContainer } from '../../src/cli/actions/router-container.ts';
import { engines } from '../../src/platform/linux/machine.ts';
import {
  consoleUnitName,
  consoleUnitText,
  containerUnitText,
  instanceName,
  unitName,
  unitTemplate,
  unitText,
} from '../../src/cli/actions/systemd-unit.ts';

const run = promisify(execFile);
const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

describe('systemd accepts the unit', () => {
  for (const user of [false, true]) {
    for (const home of ['/var/lib/earshot', '/srv/a b/100%/"quoted"']) {
      it(`of ${user ? 'one user' : 'the system'} with its files in ${home}`, async () => {
        const folder = await mkdtemp(join(tmpdir(), 'earshot-unit-'));
        try {
          const program = join(folder, 'with $dollar', 'node');
          await mkdir(join(folder, 'with $dollar'));
          await writeFile(program, '#!/bin/sh\n', { mode: 0o755 });
          const file = join(folder, unitName('west'));
          await writeFile(file, unitText({ namespace: 'west', command: [program, main], home, user, drainSeconds: 30 }));
          const consoleFile = join(folder, consoleUnitName('west'));
          const publicUrls = [new URL('https://console.example.com/$a%20b')];
          const consoleUnit = { namespace: 'west', command: [program, main], home, user, port: 8090, publicUrls };
          await writeFile(consoleFile, consoleUnitText(consoleUnit));
          const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', ...(user ? ['--user'] : []), file, consoleFile], {
            env: { ...process.env, XDG_RUNTIME_DIR: folder },
          });
          assert.equal(stdout + stderr, '');
        } finally {
          await rm(folder, { recursive: true, force: true });
        }
      });
    }
  }

  it('of the packages, and rates all units of the system as well protected', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'earshot-unit-'));
    try {
      const command = [join(folder, 'node'), '/usr/lib/earshot/earshot.mjs'];
      await writeFile(join(folder, 'node'), '#!/bin/sh\n', { mode: 0o755 });
      const names = ['earshot@.service', instanceName('west'), unitName('west'), consoleUnitName('west')];
      const [template, instance, own, ofConsole] = names.map((name) => join(folder, name));
      await writeFile(template ?? '', unitTemplate(command, 30));
      await writeFile(own ?? '', unitText({ namespace: 'west', command, home: '/var/lib/earshot', user: false, drainSeconds: 30 }));
      const consoleUnit = {
        namespace: 'west',
        command,
        home: '/var/lib/earshot',
        user: false,
        account: 'earshot',
        port: 8090,
        publicUrls: [],
      };
      await writeFile(ofConsole ?? '', consoleUnitText(consoleUnit));
      const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', instance ?? ''], {
        env: { ...process.env, SYSTEMD_UNIT_PATH: `${folder}:` },
      });
      assert.equal(stdout + stderr, '');
      for (const unit of [template, own, ofConsole])
        assert.ok((await exposureOf(unit ?? '')) <= 3, `${unit}: ${await exposureOf(unit ?? '')}`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  for (const engine of engines) {
    for (const user of [false, true]) {
      for (const network of [undefined, 'app.net_1']) {
        it(`of a router in a container of ${engine} for ${user ? 'one user' : 'the system'}, ${network ?? 'on the network of the machine'}`, async () => {
          const folder = await mkdtemp(join(tmpdir(), 'earshot-unit-'));
          try {
            const program = join(folder, engine);
            await writeFile(program, '#!/bin/sh\n', { mode: 0o755 });
            const [id, home] = [user ? 1000 : 0, '/srv/a b/100%/"quoted" $HOME'];
            const container: RouterContainer = {
              engine,
              program,
              namespace: 'west',
              home,
              image: 'registry:5000/earshot:1',
              siteId: 'a-site',
              network,
              aliases: ['earshot', 'db'],
              user: { uid: id, gid: id },
              isRootless: user,
              drainSeconds: 30,
              supervisor: 'systemd',
            };
            await writeFile(join(folder, unitName('west')), containerUnitText({ ...container, network: undefined }, user));
            const file = join(folder, unitName('west', network));
            await writeFile(file, containerUnitText(container, user));
            const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', ...(user ? ['--user'] : []), file], {
              env: { ...process.env, XDG_RUNTIME_DIR: folder, SYSTEMD_UNIT_PATH: `${folder}:` },
            });
            assert.equal(stdout + stderr, '');
          } finally {
            await rm(folder, { recursive: true, force: true });
          }
        });
      }
    }
  }

  it('and names what is wrong with one that is mangled', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'earshot-unit-'));
    try {
      const file = join(folder, unitName('west'));
      const text = unitText({ namespace: 'west', command: [process.execPath, main], home: '/srv', user: false, drainSeconds: 30 });
      await writeFile(file, text.replace('Type=exec', 'Type=wrong'));
      const { stderr } = await run('systemd-analyze', ['verify', '--man=no', file]).catch((error: { readonly stderr: string }) => error);
      assert.match(stderr, /wrong/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

/** Overall exposure of a unit, from 0 to 10 (systemd-analyze(1)). */
async function exposureOf(unit: string): Promise<number> {
  const { stdout } = await run('systemd-analyze', ['security', '--offline=true', '--no-pager', unit]);
  return Number(/exposure level for .*: (\d+\.\d+)/.exec(stdout)?.[1]);
}

it('no command of the unit runs with more rights than its own user', () => {
  // The prefixes + and ! of systemd.service(5).
  assert.doesNotMatch(unitTemplate(['/usr/lib/earshot/node', '/usr/lib/earshot/earshot.mjs'], 30), /^Exec\w+=[-@:|]*[+!]/m);
});
