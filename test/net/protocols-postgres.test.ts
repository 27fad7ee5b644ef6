/** PostgreSQL through a link. Its TLS is between its own client and its own server: the sites in between see none of it. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createAuthority, issue, startLinkedPair, startPostgres, type LinkedPair } from './harness/index.ts';

const PORT = 5432;

interface Database extends AsyncDisposable {
  readonly pair: LinkedPair;
  /** URL for libpq through the listener, which trusts only the server itself. */
  readonly url: string;
}

async function database(t: TestContext): Promise<Database> {
  const pair = await startLinkedPair(t, { postgres: PORT });
  const tls = await issue(await createAuthority(`${pair.server.dir}/ca`), 'database');
  await startPostgres(pair.server, { port: PORT, tls });
  await pair.ready();
  const url = `host=database hostaddr=127.0.0.1 port=${PORT} user=postgres dbname=postgres sslmode=verify-full sslrootcert=${tls.ca}`;
  return { pair, url, [Symbol.asyncDispose]: () => pair[Symbol.asyncDispose]() };
}

test('twenty clients of pgbench at once complete their transactions', async (t) => {
  await using db = await database(t);
  const { client } = db.pair;
  await client.run(['pgbench', '-i', '-q', '-s', '5', db.url], { timeoutMs: 60_000 });
  const transactions = 200;
  const said = await client.run(['pgbench', '-n', '-c', '20', '-j', '2', '-t', String(transactions), db.url], { timeoutMs: 120_000 });
  assert.match(said, new RegExp(`number of transactions actually processed: ${20 * transactions}/${20 * transactions}\n`));
  assert.match(said, /number of failed transactions: 0 /);
  // Each transaction leaves one line of history; what was added to the accounts is what was added to the tellers.
  const sum = (of: string): string => `(select sum(${of[0]}balance) from pgbench_${of})`;
  const sums = `select (select count(*) from pgbench_history), ${sum('accounts')} = ${sum('tellers')}`;
  assert.equal(await client.run(['psql', db.url, '-Atc', sums]), `${20 * transactions}|t\n`);
});

test('a new connection for each transaction works as well', async (t) => {
  await using db = await database(t);
  const { client } = db.pair;
  const script = `${client.dir}/one.sql`;
  await client.run(['tee', script], { input: 'select 1;\n' });
  const said = await client.run(['pgbench', '-n', '-C', '-c', '10', '-t', '50', '-f', script, db.url], { timeoutMs: 120_000 });
  assert.match(said, /number of transactions actually processed: 500\/500\n/);
});

test('TLS is from end to end, and the client checks the server', async (t) => {
  await using db = await database(t);
  const { client } = db.pair;
  assert.equal(await client.run(['psql', db.url, '-Atc', 'select version from pg_stat_ssl where pid = pg_backend_pid()']), 'TLSv1.3\n');
  const elsewhere = db.url.replace('host=database', 'host=another');
  await assert.rejects(client.run(['psql', elsewhere, '-Atc', 'select 1']), /does not match host name "another"/);
});

test('COPY brings 200 MB in and out unchanged', async (t) => {
  await using db = await database(t);
  const { client } = db.pair;
  // A stream cipher's output is as good as random, and the same for both ends; 1,000 characters fit into a row without compression.
  const lines = 'head -c 150000000 /dev/zero | openssl enc -aes-128-ctr -nosalt -K 00 -iv 00 2>/dev/null | base64 -w 1000';
  await client.run(['psql', db.url, '-c', 'create unlogged table bulk (line text)']);
  const pipe = (command: string): Promise<string> =>
    client.run(['bash', '-o', 'pipefail', '-c', command], { timeoutMs: 240_000, env: { URL: db.url } });
  const sent = await pipe(`{ ${lines} | tee /dev/fd/3 | psql "$URL" -qc 'copy bulk from stdin'; } 3>&1 | sha256sum`);
  const sizes = await client.run(['psql', db.url, '-Atc', 'select count(*), sum(length(line)) from bulk'], { timeoutMs: 120_000 });
  assert.equal(sizes, '200000|200000000\n');
  // The only reader begins at the first row by default, instead of joining others.
  assert.equal(await pipe(`PGOPTIONS='-c synchronize_seqscans=off' psql "$URL" -qc 'copy bulk to stdout' | sha256sum`), sent);
});
