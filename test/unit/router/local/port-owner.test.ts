import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { portOwner } from '../../../../src/router/local/port-owner.ts';
import { listen } from './two-sides.ts';

const TABLE = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 4343 1 0000000000000000 20 4 30 10 -1
`;

describe('the owner of a port', () => {
  it('is found for a socket of our own', async () => {
    const server = createServer();
    const owner = portOwner(await listen(server), '/proc', 10_000);
    server.close();
    assert.match(owner ?? '', new RegExp(`\\(pid ${process.pid}\\)$`));
  });

  it('is undefined without a listener', () => {
    assert.equal(portOwner(1), undefined);
  });

  it('is found by a few searches where one has no time for all processes', () => {
    const proc = mkdtempSync(join(tmpdir(), 'earshot-proc-'));
    try {
      mkdirSync(join(proc, 'net'));
      writeFileSync(join(proc, 'net/tcp'), TABLE);
      for (const pid of [5, 6, 7]) {
        mkdirSync(join(proc, `${pid}/fd`), { recursive: true });
        writeFileSync(join(proc, `${pid}/comm`), `program-${pid}`);
      }
      symlinkSync('socket:[4242]', join(proc, '7/fd/3'));
      const found = [1, 2, 3].map(() => portOwner(8080, proc, -1));
      assert.deepEqual(found, [undefined, undefined, 'program-7 (pid 7)']);
    } finally {
      rmSync(proc, { recursive: true });
    }
  });

  it('is not looked for in other network namespaces', () => {
    const proc = mkdtempSync(join(tmpdir(), 'earshot-proc-'));
    try {
      mkdirSync(join(proc, 'net'));
      writeFileSync(join(proc, 'net/tcp'), TABLE);
      for (const [pid, network] of [
        ['self', '1'],
        ['5', '2'],
        ['6', '1'],
      ] as const) {
        for (const folder of ['fd', 'ns']) mkdirSync(join(proc, pid, folder), { recursive: true });
        symlinkSync(`net:[${network}]`, join(proc, pid, 'ns/net'));
        symlinkSync('socket:[4242]', join(proc, pid, 'fd/3'));
        writeFileSync(join(proc, pid, 'comm'), 'program');
      }
      assert.equal(portOwner(8080, proc), 'program (pid 6)');
    } finally {
      rmSync(proc, { recursive: true });
    }
  });

  it('is known by its user where its descriptors may not be seen', () => {
    const proc = mkdtempSync(join(tmpdir(), 'earshot-proc-'));
    try {
      mkdirSync(join(proc, 'net'));
      writeFileSync(join(proc, 'net/tcp'), TABLE);
      assert.equal(portOwner(8080, proc), 'a process of the user with ID 1000');
    } finally {
      rmSync(proc, { recursive: true });
    }
  });

  it('has a name that cannot forge a line', () => {
    const proc = mkdtempSync(join(tmpdir(), 'earshot-proc-'));
    try {
      mkdirSync(join(proc, 'net'));
      mkdirSync(join(proc, '77/fd'), { recursive: true });
      writeFileSync(join(proc, 'net/tcp'), TABLE);
      writeFileSync(join(proc, '77/comm'), 'a\nb\u001b[31m');
      symlinkSync('socket:[4242]', join(proc, '77/fd/3'));
      assert.equal(portOwner(8080, proc), 'a?b?[31m (pid 77)');
    } finally {
      rmSync(proc, { recursive: true });
    }
  });
});
