import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { isConflict, parseListeningTable, readListeningTable } from '../../../../src/router/local/listening-table.ts';
import { listen } from './two-sides.ts';

const HEADER = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
const row = (state: string, local = '0100007F:1F90'): string =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  1000        0 4242 1 0000000000000000 100 0 0 10 0`;

describe('the table of listening sockets', () => {
  it('has sockets that listen, and no connections', () => {
    const table = [HEADER, row('0A'), row('01')].join('\n');
    assert.deepEqual(parseListeningTable(table), [{ host: '127.0.0.1', port: 8080, inode: '4242', uid: '1000' }]);
  });

  it('has the sockets of this machine at their addresses', async () => {
    for (const [host, family] of [
      ['127.0.0.1', '127.0.0.1'],
      ['0.0.0.0', '0.0.0.0'],
      ['::1', '0:0:0:0:0:0:0:1'],
      ['::', '::'],
    ] as const) {
      const server = createServer();
      const port = await listen(server, 0, host);
      const found = readListeningTable().filter((each) => each.port === port);
      server.close();
      assert.deepEqual(
        found.map((each) => each.host),
        [family],
      );
    }
  });

  it('is read no further than to the first connections', () => {
    const proc = mkdtempSync(join(tmpdir(), 'earshot-proc-'));
    try {
      mkdirSync(join(proc, 'net'));
      const connections = Array.from({ length: 20_000 }, () => row('01'));
      writeFileSync(join(proc, 'net/tcp'), [HEADER, row('0A'), ...connections, row('0A', '0100007F:1F91'), ''].join('\n'));
      assert.deepEqual(
        readListeningTable(proc).map(({ port }) => port),
        [8080],
      );
    } finally {
      rmSync(proc, { recursive: true });
    }
  });

  it('is empty where there is no procfs', () => {
    assert.deepEqual(readListeningTable('/nonexistent'), []);
  });
});

describe('a socket that listens', () => {
  const cases: readonly (readonly [own: string, other: string, isConflict: boolean])[] = [
    ['127.0.0.1', '127.0.0.1', true],
    ['127.0.0.1', '127.0.0.2', false],
    ['127.0.0.1', '0.0.0.0', true],
    ['127.0.0.1', '::', true],
    ['127.0.0.1', '::ffff:127.0.0.1', true],
    ['127.0.0.1', '::1', false],
    ['0.0.0.0', '127.0.0.1', true],
    ['0.0.0.0', '::1', false],
    ['::1', '0.0.0.0', false],
    ['::1', '0:0:0:0:0:0:0:1', true],
    ['fe80::1%eth0', 'fe80::1', true],
    ['', '127.0.0.1', true],
    ['', '::1', true],
    ['::', '127.0.0.1', true],
  ];
  for (const [own, other, expected] of cases)
    it(`at ${other} ${expected ? 'prevents' : 'allows'} listening at ${own || 'all addresses'}`, () => {
      assert.equal(isConflict({ host: own, port: 80 }, { host: other, port: 80 }), expected);
      assert.equal(isConflict({ host: own, port: 80 }, { host: other, port: 81 }), false);
    });

  it('prevents exactly what the system refuses', async () => {
    for (const other of ['127.0.0.1', '127.0.0.2', '0.0.0.0', '::1', '::'])
      for (const own of ['127.0.0.1', '0.0.0.0', '::1', '::']) {
        const [holder, tried] = [createServer(), createServer()];
        const port = await listen(holder, 0, other);
        const isRefused = await listen(tried, port, own).then(
          () => false,
          () => true,
        );
        for (const server of [holder, tried]) server.close();
        assert.equal(isConflict({ host: own, port }, { host: other, port }), isRefused, `${own} beside ${other}`);
      }
  });
});
