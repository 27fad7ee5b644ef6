import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { candidates } from '../../../src/cli/commands/completion.ts';
import { exitCodes } from '../../../src/cli/errors.ts';
import { resourceTable, table } from '../../../src/cli/output/output.ts';
import { buildProgram } from '../../../src/cli/program.ts';
import { VERSION } from '../../../src/version.ts';
import { accountFor, unitText } from '../../../src/cli/actions/systemd-unit.ts';
import { cliManual } from '../../../scripts/cli-manual.ts';
import { Namespace } from './namespace.ts';

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
const silent = { out: () => {}, note: () => {}, input: async () => '' };
const run = promisify(execFile);

function leavesOf(command: Command): readonly Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

describe('every command', () => {
  it('has a description and an example in its help', () => {
    let help = '';
    for (const command of leavesOf(buildProgram({ ...silent, out: (text) => void (help += text) }))) {
      if (command.name() === 'complete' || command.description().startsWith('not available: ')) continue;
      help = '';
      command.outputHelp();
      assert.notEqual(command.description(), '', command.name());
      assert.match(help, new RegExp(`\\nExamples?:\\n(?: .*\\n)*.*earshot.* ${command.name()}`), command.name());
    }
  });

  it('is in the manual, and so is every exit code', () => {
    const manual = cliManual();
    for (const name of ['site revoke', 'listener create', 'token redeem', 'apply', 'system install', 'debug dump', 'controller']) {
      assert.ok(manual.includes(`\n## earshot ${name}\n`), name);
    }
    for (const code of [0, ...Object.values(exitCodes)]) assert.match(manual, new RegExp(`^\\| ${code} \\| \\w.*\\|$`, 'm'));
  });

  it('of the exposure half keeps a --namespace of its own', async () => {
    const program = buildProgram(silent);
    const controller = program.commands.find((command) => command.name() === 'controller');
    assert.ok(controller);
    let seen: unknown;
    controller.action((options: object) => void (seen = options));
    await program.parseAsync(['controller', '--namespace', 'earshot', '--identity', 'a'], { from: 'user' });
    assert.deepEqual([Object(seen).namespace, program.opts()], ['earshot', {}]);
  });
});

describe('the program', () => {
  it('prints no version next to unknown arguments', async () => {
    await using west = await Namespace.make();
    const { code, out, err } = await west.earshot(['--version', '--nonsense']);
    assert.deepEqual([code, out], [2, '']);
    assert.match(err, /unknown option '--nonsense'/);
  });

  it('prints its version for the option that people try first', async () => {
    await using west = await Namespace.make();
    const { code, out } = await west.earshot(['--version']);
    assert.deepEqual([code, out], [0, `${VERSION}\n`]);
  });

  it('loads nothing heavy before it knows its command', async () => {
    const script = `
      import { registerHooks } from 'node:module';
      const loaded = [];
      registerHooks({
        resolve(specifier, context, next) {
          const found = next(specifier, context);
          loaded.push(found.url);
          return found;
        },
      });
      const { buildProgram } = await import(${JSON.stringify(new URL('../../../src/cli/program.ts', import.meta.url).href)});
      buildProgram({});
      console.log(loaded.join('\\n'));`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script]);
    assert.match(stdout, /src\/cli\/commands\/listener\.ts/);
    assert.doesNotMatch(
      stdout,
      /node_modules\/(?:yaml|typebox|@peculiar|undici|nice-grpc)|src\/(?:trust|x509|router|site|agent|kube\/client|exposure\/(?:csi|listeners|mounts))\b/,
    );
  });

  it('refuses a memory size that is invalid or too small', async () => {
    await using west = await Namespace.make();
    for (const size of ['lots', '64Mi', '256MiB']) {
      const { code, err } = await west.earshot(['run', '--memory', size]);
      assert.equal(code, exitCodes.usage);
      assert.match(err, new RegExp(`--memory <size>.*'${size}' is invalid. It must be a size such as 512Mi or 2Gi, at least 128Mi`));
    }
  });

  it('ends with the code that is documented', async () => {
    await using west = await Namespace.make();
    const env = { ...process.env, EARSHOT_HOME: west.home };
    const failed: unknown = await run(process.execPath, [main, 'listener', 'status', 'gone'], { env }).catch((error: unknown) => error);
    assert.equal(Object(failed).code, exitCodes['not-found']);
    assert.match(Object(failed).stderr, /^No process runs .*\nearshot: Listener "gone" does not exist/);
    const { stdout } = await run(process.execPath, [main, 'version', '-o', 'json'], { env });
    assert.match(JSON.parse(stdout).node, /^v\d+/);
  });
});

describe('completion', () => {
  const cases: readonly (readonly [words: readonly string[], found: readonly string[]])[] = [
    [['lis'], ['listener']],
    [['listener', 'c'], ['create']],
    [
      ['-n', 'west', 'token', ''],
      ['delete', 'help', 'issue', 'redeem', 'status'],
    ],
    [
      ['listener', 'update', ''],
      ['backend', 'database'],
    ],
    [['-n', 'west', 'listener', 'update', 'd'], ['database']],
    [['listener', 'create', 'x', '80', '--obs'], ['--observer']],
    [
      ['listener', 'create', 'x', '80', '--observer', 'http'],
      ['http1', 'http2'],
    ],
    [['-n', ''], ['west']],
    [['listener', 'create', 'x', '80', '--tls-credentials', ''], ['web']],
    [['completion', 'b'], ['bash']],
    [['token', 'redeem', ''], []],
    [['delete', 'lis'], ['listener']],
    [
      ['delete', 'listener', ''],
      ['backend', 'database'],
    ],
    [['delete', 'lnr', 'backend', ''], ['database']],
    [['system', 'delete', 'Listeners', 'b'], ['backend']],
    [['delete', 'nonsense', ''], []],
    [['delete', '--no-wait', 'listener', 'b'], ['backend']],
    [['explain', 'networko'], ['networkobserver']],
    [['wait', 'lis'], ['listener']],
    [
      ['wait', 'listener/'],
      ['listener/backend', 'listener/database'],
    ],
    [['wait', 'site/west', 'listener/d'], ['listener/database']],
    [['wait', 'listener', 'd'], ['database']],
    [['listener', 'create', 'backend', ''], []],
    [['com'], ['completion']],
    [['nothing', 'known', ''], []],
  ];
  for (const [words, found] of cases) {
    it(`of "${words.join(' ')}"`, async () => {
      await using west = await Namespace.make();
      process.env['EARSHOT_NAMESPACE'] = 'west';
      await west.earshot(['listener', 'create', 'backend', '80']);
      await west.earshot(['listener', 'create', 'database', '81']);
      await mkdir(join(west.layout.input.certs, 'web'), { recursive: true });
      const all = await candidates(buildProgram(silent), words);
      if (words.at(0) === 'nothing') assert.ok(all.includes('listener'));
      else assert.deepEqual(all, found);
      delete process.env['EARSHOT_NAMESPACE'];
    });
  }

  it('works in bash', async () => {
    await using west = await Namespace.make();
    const script = `earshot() { '${process.execPath}' '${main}' "$@"; }; source <(earshot completion bash)
      COMP_WORDS=(earshot site up); COMP_CWORD=2; _earshot; echo "\${COMPREPLY[@]}"`;
    const { stdout } = await run('bash', ['-c', script], { env: { ...process.env, EARSHOT_HOME: west.home } });
    assert.equal(stdout, 'update\n');
  });
});

describe('a table', () => {
  it('is as wide as what is in it, and on one line a row', () => {
    assert.equal(
      table(
        ['A', 'B'],
        [
          ['long', 'x\ny'],
          ['s', '\u202Ez'],
        ],
      ),
      'A      B\nlong   x y\ns      \\u{202e}z\n',
    );
  });

  it('leaves out columns that no resource has a value for', () => {
    const resources = [
      { metadata: { name: 'a' }, spec: { routingKey: 'k', port: 1 }, status: { status: 'Ready', hasMatchingConnector: true } },
    ];
    assert.equal(
      resourceTable('Listener', resources),
      'NAME   ROUTING-KEY   PORT   STATUS   HAS-MATCHING-CONNECTOR\na      k             1      Ready    true\n',
    );
  });
});

describe('a systemd unit', () => {
  const options = { namespace: 'west', command: ['/opt/a b/node', '/opt/100%/$x.ts'], home: '/srv/a "b" %', user: false, drainSeconds: 30 };

  it('quotes what is special to systemd', () => {
    const text = unitText(options);
    assert.match(text, /^ExecStart="\/opt\/a b\/node" "\/opt\/100%%\/\$\$x\.ts" -n west run --drain-timeout 30s$/m);
    assert.match(text, /^Environment="EARSHOT_HOME=\/srv\/a \\"b\\" %%"$/m);
    assert.match(text, /^TimeoutStopSec=40$/m);
    assert.match(text, /^SyslogIdentifier=earshot$/m);
    assert.match(text, /^WantedBy=multi-user\.target$/m);
  });

  it('of the system has no capability but for low ports and files of others', () => {
    assert.match(unitText(options), /^CapabilityBoundingSet=CAP_NET_BIND_SERVICE CAP_DAC_OVERRIDE$/m);
  });

  it('of the system runs as its own user without a right to files of others', () => {
    const text = unitText({ ...options, home: '/var/lib/earshot', account: 'earshot' });
    assert.match(text, /^User=earshot$/m);
    assert.match(text, /^CapabilityBoundingSet=CAP_NET_BIND_SERVICE$/m);
    assert.match(text, /^AmbientCapabilities=CAP_NET_BIND_SERVICE$/m);
  });

  it('has its own user only for a program and files that this user can reach', () => {
    const [home, command] = ['/var/lib/earshot', ['/usr/lib/earshot/node', '/usr/lib/earshot/earshot.mjs']];
    assert.equal(accountFor({ home, command, exists: true }), 'earshot');
    assert.equal(accountFor({ home, command, exists: false }), undefined);
    assert.equal(accountFor({ home: '/srv', command, exists: true }), undefined);
    assert.equal(accountFor({ home, command: ['/usr/bin/node', '/root/earshot/src/cli/main.ts'], exists: true }), undefined);
  });

  it('hides home directories and temporary files unless the site or the program is there', () => {
    const hidden = /^(?:ProtectHome=true|PrivateTmp=true)$/gm;
    const unit = { ...options, command: ['/usr/bin/earshot'] };
    assert.equal(unitText(unit).match(hidden)?.length, 2);
    assert.doesNotMatch(unitText({ ...unit, home: '/home/me/sites' }), /^ProtectHome=true$/m);
    assert.doesNotMatch(unitText({ ...unit, command: ['/tmp/earshot'] }), /^PrivateTmp=true$/m);
  });

  it('of one user asks for nothing that only root can have', () => {
    const text = unitText({ ...options, user: true });
    assert.doesNotMatch(text, /Protect|Private|Capability|Restrict|network-online|multi-user/);
    assert.match(text, /^WantedBy=default\.target$/m);
  });
});
