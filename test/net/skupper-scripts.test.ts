/** Scripts as people wrote them for Skupper, with another name of the program. */
import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createNetwork, startSite, type Host, type Site } from './harness/index.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

interface Script {
  readonly about: string;
  readonly on: 'west' | 'east';
  readonly lines: string;
  /** Exit code; 0 by default. */
  readonly code?: number;
  /** Part of its output. */
  readonly says?: RegExp;
}

/** In this order. They share a directory. */
const scripts: readonly Script[] = [
  {
    about: 'system apply and system delete',
    on: 'west',
    lines: `cat >web.yaml <<'END'
apiVersion: skupper.io/v2alpha1
kind: Listener
metadata: {name: web}
spec: {routingKey: web, host: 127.0.0.1, port: 8000}
END
skupper system apply -f web.yaml
skupper system apply -f - <web.yaml
mkdir crs && cp web.yaml crs/
skupper system apply -f crs
skupper system delete -f web.yaml
skupper system apply --filename=crs
skupper system delete listener web`,
  },
  {
    about: 'platforms of machines',
    on: 'west',
    lines: `skupper -p podman site status
skupper site status --platform=docker
SKUPPER_PLATFORM=podman skupper site status -o json | grep -q '"name": "west"'
skupper site -n west -p linux status`,
  },
  {
    about: 'a context on a machine',
    on: 'west',
    lines: 'skupper -p podman -c here site status',
    code: 2,
    says: /select clusters: omit --platform podman/,
  },
  {
    about: 'connectors and listeners',
    on: 'west',
    lines: `skupper connector create backend 8080 --include-not-ready=false --wait configured --timeout 60s
skupper connector update backend -r other --port 8081 --timeout=1m0s
skupper listener create backend 8090 --host 127.0.0.1 --type tcp --wait=configured
skupper connector generate backend 8080 >connector.yaml
skupper connector generate backend 8080 --selector app=x --include-not-ready -o json >connector.json
skupper listener generate backend 8090 -o=yaml >listener.yaml
skupper site generate west --enable-link-access >site.yaml
grep -q 'host: localhost' connector.yaml && grep -q 'host: 0.0.0.0' listener.yaml && grep -q 'linkAccess: default' site.yaml
skupper connector delete backend --wait=false
skupper listener delete backend --timeout 60s`,
  },
  { about: 'a workload on a machine', on: 'west', lines: 'skupper connector create x 1 --workload deployment/x', code: 2, says: /--host/ },
  {
    about: 'token issue',
    on: 'east',
    lines: 'skupper token issue "$SHARED/token.yaml" --redemptions-allowed 1 --expiration-window 15m0s --cost 2 --timeout 60s',
  },
  {
    about: 'token redeem and link',
    on: 'west',
    lines: `skupper token redeem "$SHARED/token.yaml" --timeout 60s
link=$(skupper link status -o json | sed -n 's/^ *"name": "\\(east-[^"]*\\)".*/\\1/p' | head -1)
skupper link update "$link" --cost 3 --wait ready
skupper link status "$link"
skupper link delete "$link"`,
  },
  {
    about: 'link generate',
    on: 'east',
    lines: `skupper link generate --generate-credential --timeout 60s >link.yaml
grep -q 'kind: Secret' link.yaml
skupper link generate --generate-credential=false --tls-credentials corp >link.yaml
! grep -q 'kind: Secret' link.yaml`,
  },
  {
    about: 'versions and dumps',
    on: 'west',
    lines: `skupper version
skupper manifest -o yaml | grep -q 'version:'
skupper debug dump && ls skupper-dump-west-2*.tar.gz
skupper debug dump west && ls west-west-2*.tar.gz`,
  },
  { about: 'debug conn', on: 'west', lines: 'skupper debug conn' },
  {
    about: 'system network-observer',
    on: 'west',
    lines: 'skupper system network-observer --username a --password b',
    code: 1,
    says: /--password has no effect[^]*earshot -n west console --service/,
  },
  {
    about: 'system generate-bundle',
    on: 'east',
    lines: `skupper system generate-bundle east --type shell-script
sh "$EARSHOT_HOME/bundles/east.sh" -p linux -n copy
skupper -n copy system generate-bundle copy --input "$EARSHOT_HOME/namespaces/copy/input"
tar -tzf "$EARSHOT_HOME/bundles/copy.tar.gz" | grep -q '^install.sh$'`,
    says: /earshot -n copy run/,
  },
  {
    about: 'system install, reload, stop and uninstall',
    on: 'east',
    lines: `skupper system install --reload-type auto --print | grep -q '^ExecStart='
skupper system reload
skupper system stop
skupper system uninstall --force`,
    says: /The namespace east is deleted/,
  },
];

test('scripts for Skupper do the same with Earshot', async (t) => {
  await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
  const [west, east] = [net.host('west'), net.host('east')];
  const sites = { west: await startSite(west), east: await startSite(east, { access: true }) };
  const shared = await west.folder('shared');
  for (const host of [west, east]) await addProgram(host);
  for (const { about, on, lines, code = 0, says } of scripts) {
    await t.test(about, async () => {
      const outcome = await sites[on].host.attempt(['sh', '-ec', lines.replaceAll(/\bskupper (?=[a-z-])/g, 'earshot ')], {
        cwd: net.host(on).dir,
        env: environmentOf(sites[on], shared),
        timeoutMs: 240_000,
      });
      const said = outcome.stdout + outcome.stderr;
      assert.equal(outcome.code, code, said);
      if (says !== undefined) assert.match(said, says);
    });
  }
});

/** `earshot` on the PATH of a host. */
async function addProgram(host: Host): Promise<void> {
  const file = join(host.dir, 'earshot');
  const program = process.env['EARSHOT_PROGRAM'] ?? `${ROOT}src/cli/main.ts`;
  await writeFile(file, `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`);
  await chmod(file, 0o755);
}

function environmentOf({ host, home, name }: Site, shared: string): Readonly<Record<string, string>> {
  return { EARSHOT_HOME: home, EARSHOT_NAMESPACE: name, SHARED: shared, PATH: `${host.dir}:${process.env['PATH']}` };
}
