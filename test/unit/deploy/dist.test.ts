import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { chartArchive, chartArtifact } from '../../../scripts/dist/chart-archive.ts';
import { manualPage } from '../../../scripts/dist/manual-page.ts';
import { billOfMaterials, chartMaterials } from '../../../scripts/dist/sbom.ts';
import { run } from '../../harness/command.ts';

const packageScript = (name: string): string => path.join(import.meta.dirname, '../../../scripts/dist/package-scripts', name);

it('a purge of the package ends and removes the units whose data it deletes, also those of containers', async (t) => {
  const root = await mkdtemp(path.join(tmpdir(), 'earshot-purge-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  const units = path.join(root, 'etc/systemd/system');
  for (const folder of [units, path.join(root, 'run/systemd/system'), path.join(root, 'bin')]) await mkdir(folder, { recursive: true });
  const commands = {
    'earshot-process.service': '/usr/lib/earshot/node /usr/lib/earshot/earshot.mjs run',
    'earshot-container.service': '/usr/bin/podman run --volume /var/lib/earshot/namespaces/west:/var/lib/earshot/namespaces/west:z i',
    'earshot-other.service': '/usr/bin/podman run --volume /srv/namespaces/west:/var/lib/earshot/namespaces/west:z i',
  };
  for (const [name, command] of Object.entries(commands)) await writeFile(path.join(units, name), `ExecStart=${command}\n`);
  const calls = path.join(root, 'calls');
  await writeFile(path.join(root, 'bin/systemctl'), `#!/bin/sh\necho "$*" >> ${calls}\n`);
  await chmod(path.join(root, 'bin/systemctl'), 0o755);
  const script = (await readFile(packageScript('postremove.sh'), 'utf8'))
    .replaceAll(/(?<= )\/(?=(?:etc|run)\/)/g, `${root}/`)
    .replace('rm -rf /', `rm -rf ${root}/`);
  assert.doesNotMatch(script, /\brm\b.* \/(?:var|etc)\b/, 'nothing of this machine is removed');
  await run('sh', ['-c', `PATH=${root}/bin:$PATH; set -- purge\n${script}`]);
  assert.deepEqual(await readdir(units), ['earshot-other.service']);
  assert.match(await readFile(calls, 'utf8'), /^disable --now earshot-container\.service$/m);
});

describe('the files of a release', () => {
  it('have a chart as an OCI artifact with the media types of Helm', async () => {
    const artifact = (await chartArtifact('localhost/earshot-chart:0.1.0', await chartArchive())).toString('latin1');
    assert.match(artifact, /"mediaType":"application\/vnd\.cncf\.helm\.config\.v1\+json"/);
    assert.match(artifact, /"mediaType":"application\/vnd\.cncf\.helm\.chart\.content\.v1\.tar\+gzip"/);
  });

  it('have a chart that runs the image of the registry by its digest, if the release names one', async () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    const values = async (...image: Parameters<typeof chartArchive>): Promise<string> =>
      gunzipSync(await chartArchive(...image)).toString('latin1');
    const released = await values({ repository: 'registry.example/earshot', digest });
    const before = await values();
    assert.match(before, /^ {2}repository: localhost\/earshot$/m);
    assert.match(released, /^ {2}repository: registry\.example\/earshot$/m);
    assert.match(released, new RegExp(`^ {2}digest: ${digest}$`, 'm'));
    await assert.rejects(chartArchive({ repository: 'registry.example/earshot', digest: 'sha256:a' }), /not an image/);
  });

  it('have a list of contents for the chart that names the image by its digest', () => {
    const image = { repository: 'registry.example/earshot', digest: `sha256:${'a'.repeat(64)}` };
    const { components } = JSON.parse(chartMaterials({ version: '1.2.3', commit: 'abc', date: new Date(0), image })) as {
      components: readonly { purl: string }[];
    };
    const repository = 'registry.example%2Fearshot';
    assert.deepEqual(
      components.map(({ purl }) => purl),
      [`pkg:oci/earshot@sha256%3A${'a'.repeat(64)}?repository_url=${repository}&tag=1.2.3`],
    );
  });

  it('have a manual page that man shows without a warning, with each command', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'earshot-dist-'));
    try {
      const file = path.join(folder, 'earshot.1');
      await writeFile(file, manualPage(new Date(0)));
      const shown = await run('sh', ['-c', `groff -man -Tascii -ww ${file} 2>&1`]).catch(() => undefined);
      if (shown !== undefined) assert.doesNotMatch(shown, /warning|error:/);
      assert.match(manualPage(new Date(0)), /\.SS "earshot listener create"/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('list each package with its version and address', () => {
    const contents = { name: 'earshot', version: '1.2.3', commit: 'abc', date: new Date(0), node: '26.10.0', debian: [] };
    const packages = [{ name: '@scope/one', version: '1.0.0', license: 'MIT' }];
    const { components } = JSON.parse(billOfMaterials({ ...contents, packages })) as { components: readonly { purl: string }[] };
    assert.deepEqual(
      components.map(({ purl }) => purl),
      ['pkg:generic/node@26.10.0', 'pkg:npm/%40scope/one@1.0.0'],
    );
  });
});
