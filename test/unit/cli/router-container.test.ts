/** Command lines and units of routers in containers. test/net/podman.test.ts runs them. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startContainers } from '../../../src/cli/actions/container-actions.ts';
import { listArguments, removeCommand, runArguments, type RouterContainer } from '../../../src/cli/actions/router-container.ts';
import { messageOf } from '../../../src/telemetry/log.ts';
import { containerUnitText, unitName, unitsOf } from '../../../src/cli/actions/systemd-unit.ts';

const base: RouterContainer = {
  engine: 'podman',
  program: '/usr/bin/podman',
  namespace: 'west',
  home: '/var/lib/earshot',
  image: 'localhost/earshot:1.2.3',
  siteId: 'a-site',
  aliases: [],
  user: { uid: 0, gid: 0 },
  isRootless: false,
  drainSeconds: 30,
  openFiles: 1000,
  supervisor: 'systemd',
};
const user = { uid: 1000, gid: 1001 };
const rootless = { user, isRootless: true, home: '/home/u/.local/share/earshot', openFiles: undefined };
const net = { network: 'app_net', aliases: ['earshot', 'db'] };

/** Parts of command lines: those that must be there, in this order, and those that must not. */
const rows: readonly (readonly [string, Partial<RouterContainer>, readonly string[], readonly string[]])[] = [
  [
    'Podman as root: conmon notifies systemd, and root has two capabilities',
    {},
    [
      'run --detach --rm --sdnotify=conmon --cgroups=no-conmon --log-driver journald --name west-skupper-router --network host',
      '--user 0:0 --cap-drop all --cap-add NET_BIND_SERVICE --cap-add DAC_OVERRIDE --read-only --tmpfs /tmp --stop-timeout 40',
      '--label application=skupper-v2 --label skupper.io/v2-component=router --label skupper.io/site-id=a-site --label earshot.namespace=west',
      '--label earshot.directory=/var/lib/earshot/namespaces/west --label earshot.network=host',
      '--env EARSHOT_HOME=/var/lib/earshot --env EARSHOT_PLATFORM=podman --env EARSHOT_CONTAINER=west-skupper-router',
      '--ulimit nofile=1000:1000',
      '--volume /var/lib/earshot/namespaces/west:/var/lib/earshot/namespaces/west:z --entrypoint /usr/local/bin/node',
      'localhost/earshot:1.2.3 /app/earshot.mjs -n west run --drain-timeout 30s',
    ],
    ['--userns', '--restart', '--router', '--network-alias', 'EARSHOT_ALIASES'],
  ],
  [
    'Podman without root: the user keeps its ID and has no capabilities',
    rootless,
    [
      '--userns keep-id --user 1000:1001 --cap-drop all --read-only',
      '--volume /home/u/.local/share/earshot/namespaces/west:/var/lib/earshot/namespaces/west:z',
    ],
    ['--cap-add', '--ulimit'],
  ],
  [
    'Docker as root: systemd watches the attached client',
    { engine: 'docker', program: '/usr/bin/docker' },
    ['run --rm --log-driver local --name west-skupper-router --network host --user 0:0', '--env EARSHOT_PLATFORM=docker'],
    ['--detach', '--sdnotify', '--cgroups', '--userns', '--restart'],
  ],
  [
    'Docker for a user of its daemon: files belong to that user',
    { engine: 'docker', user },
    ['--user 1000:1001 --cap-drop all --read-only'],
    ['--cap-add', '--userns'],
  ],
  ['Docker without root: root in the container is the user', { engine: 'docker', ...rootless }, ['--user 0:0'], ['--userns']],
  [
    'a router of a network has names there, and serves that network only',
    net,
    [
      '--name west-skupper-router-app_net --network app_net --network-alias earshot --network-alias db',
      '--label earshot.network=app_net',
      '--env EARSHOT_ALIASES=earshot,db',
      '-n west run --network app_net --drain-timeout 30s',
    ],
    ['host', '--router'],
  ],
  [
    'without systemd, Podman restarts the container itself',
    { supervisor: 'engine' },
    ['run --detach --restart always --log-driver k8s-file --log-opt max-size=50mb --name'],
    ['--rm', '--sdnotify', 'journald'],
  ],
  [
    'without systemd, Docker restarts the container itself',
    { supervisor: 'engine', engine: 'docker' },
    ['run --detach --restart always --log-driver local --name'],
    ['--rm'],
  ],
  ['a site without a key has no label of its ID', { siteId: undefined }, ['--label earshot.namespace=west'], ['site-id']],
];

for (const [name, given, present, absent] of rows)
  test(name, () => {
    const words = runArguments({ ...base, ...given });
    const line = words.join(' ');
    let from = 0;
    for (const part of present) {
      const at = line.indexOf(part, from);
      assert.ok(at >= 0, `${part} is not in ${line.slice(from)}`);
      from = at + part.length;
    }
    for (const part of absent)
      assert.ok(!words.some((word) => word.startsWith(part) || word.includes(`/${part}`)), `${part} is in ${line}`);
  });

test('all containers of a site have one SELinux level, and two sites have different ones', () => {
  const level = (given: Partial<RouterContainer>): string | undefined =>
    runArguments({ ...base, ...given }).find((word) => word.startsWith('label=level:'));
  assert.match(level({}) ?? '', /^label=level:s0:c\d{1,4},c\d{1,4}$/);
  assert.equal(level({}), level(net));
  assert.notEqual(level({}), level({ namespace: 'east' }));
  assert.notEqual(level({}), level({ home: '/srv' }));
});

test('an earlier container is removed only if it has the labels of this router and this directory', () => {
  const listed = listArguments(base).join(' ');
  for (const label of ['earshot.namespace=west', 'earshot.directory=/var/lib/earshot/namespaces/west', 'earshot.network=host'])
    assert.ok(listed.includes(`--filter label=${label}`), listed);
  assert.equal(removeCommand(base), `/usr/bin/podman ${listed} | xargs -r /usr/bin/podman rm --force`);
  assert.match(removeCommand({ ...base, home: "/a b/it's" }), /'label=earshot\.directory=\/a b\/it'\\''s\/namespaces\/west'/);
});

test('a unit has the command lines of its container, and that of a network follows the first', () => {
  const first = containerUnitText(base, false);
  assert.match(first, /^Type=notify\nNotifyAccess=all\n/m);
  assert.match(first, /^ExecStart=\/usr\/bin\/podman run .* -n west run --drain-timeout 30s$/m);
  assert.match(first, /^ExecReload=\/usr\/bin\/podman kill --signal HUP west-skupper-router$/m);
  assert.match(first, /^ExecStop=-\/usr\/bin\/podman stop -t 40 west-skupper-router$/m);
  assert.match(first, /^Alias=skupper-west\.service$/m);
  const second = containerUnitText({ ...base, ...net, engine: 'docker', program: '/usr/bin/docker' }, false);
  assert.match(second, /^Type=exec\n/m);
  assert.match(second, /^After=network-online\.target docker\.service earshot-west\.service\nPartOf=earshot-west\.service\n/m);
  assert.doesNotMatch(second, /^Alias=/m);
  // The systemd instance of a user has no units of the system.
  assert.doesNotMatch(containerUnitText({ ...base, ...rootless, engine: 'docker' }, true), /docker\.service|network-online|multi-user/);
  const units = new Map([
    [unitName('west'), first],
    [unitName('west', 'app_net'), second],
    [unitName('west-app'), containerUnitText({ ...base, namespace: 'west-app' }, false)],
  ]);
  assert.deepEqual(unitsOf('west', units), ['earshot-west.service', 'earshot-west_app_net.service']);
});

test('a home with line ends adds no line to the unit', () => {
  const text = containerUnitText({ ...base, home: '/srv/a\rExecStartPre=/b\nExecStartPre=/c' }, false);
  assert.doesNotMatch(text, /\r|^ExecStartPre=\/[bc]/m);
  assert.match(text, /"earshot\.directory=\/srv\/a\\rExecStartPre=\/b\\nExecStartPre=\/c\//);
});

test('an engine that starts no container is quoted once, with the command once', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'earshot-engine-'));
  t.after(() => rm(folder, { recursive: true }));
  const program = join(folder, 'podman');
  await writeFile(program, '#!/bin/sh\n[ "$1" = run ] || exit 0\necho "Error: no rights" >&2\nexit 126\n', { mode: 0o755 });
  await assert.rejects(startContainers([{ ...base, program }]), (error: Error) => {
    const shown = messageOf(error);
    assert.equal(shown.split('no rights').length, 2, shown);
    assert.equal(shown.split(' --network host ').length, 2, shown);
    assert.ok(shown.startsWith(`${program} run failed: Error: no rights. To try it by hand: ${program} run `), shown);
    return true;
  });
});
