/** Every field of listeners and connectors is changed while they run: clients see the effect, and a connection beside notices nothing. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  connector,
  createAuthority,
  createNetwork,
  eventually,
  issue,
  linkByToken,
  listener,
  manifest,
  startNginx,
  startRedis,
  startSite,
  startSteady,
  type Authority,
  type Host,
  type Site,
  type Steady,
} from './harness/index.ts';

interface World extends AsyncDisposable {
  readonly west: Site;
  readonly east: Site;
  readonly client: Host;
  readonly server: Host;
  readonly steady: Steady;
  readonly authority: Authority;
}

/** Which address and port of the server was asked, and what certificate it was shown. */
const WHO = 'location = /who { return 200 "$server_addr:$server_port $ssl_client_s_dn"; }';
const [ONE, TWO, ELSEWHERE] = ['127.0.0.1:8001 ', '127.0.0.1:8002 ', '10.66.1.2:8001 '];
/** How clients are turned away that show none; any other failure may have another cause. */
const WITHOUT_CERTIFICATE = /alert certificate required/;
/** Users need about a second; a busy machine may take longer. */
const SOON = { timeoutMs: 30_000, everyMs: 50 };

/** The east has servers at 8001, 8002 and, over TLS, 8003 and 8004; keys `one` and `two` lead to the first two. */
async function startWorld(t: TestContext): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const net = stack.use(await createNetwork({ hosts: ['west', 'east'], test: t }));
  const [client, server] = [net.host('west'), net.host('east')];
  const authority = await createAuthority(`${server.dir}/authority`);
  const known = await issue(authority, 'known', { hosts: ['localhost', '127.0.0.1'] });
  const other = await issue(authority, 'other', { hosts: ['other.example'] });
  await startNginx(server, { port: 8001, server: WHO });
  await startNginx(server, { port: 8002, server: WHO });
  const asking = `ssl_verify_client optional; ssl_client_certificate ${authority.cert};`;
  await startNginx(server, { port: 8003, tls: known, server: `${asking} ${WHO}` });
  await startNginx(server, { port: 8004, tls: other, server: WHO });
  await startRedis(server, { port: 6379 });
  const east = await startSite(server, {
    access: true,
    resources: [connector('one', '127.0.0.1', 8001), connector('two', '127.0.0.1', 8002), connector('steady', '127.0.0.1', 6379)],
  });
  const west = await startSite(client, {
    resources: [listener('web', '127.0.0.1', 80, { routingKey: 'one' }), listener('steady', '127.0.0.1', 6379)],
  });
  await linkByToken(west, east);
  await west.waitFor('Listener', 'web');
  await west.waitFor('Listener', 'steady');
  const steady = await startSteady(client, 6379);
  const owned = stack.move();
  return { west, east, client, server, authority, steady, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Answer of a URL, or the error. */
async function said(host: Host, url: string, options: readonly string[] = []): Promise<string> {
  const { code, stdout, stderr } = await host.attempt(['curl', '-sS', '--max-time', '5', ...options, url]);
  return code === 0 ? stdout : `${code}: ${stderr}`;
}

async function answers(host: Host, url: string, wanted: string | RegExp, options: readonly string[] = []): Promise<void> {
  await eventually(
    `${url} to answer ${String(wanted)}`,
    async () => {
      const heard = await said(host, url, options);
      if (typeof wanted === 'string' ? heard === wanted : wanted.test(heard)) return true;
      throw new Error(heard);
    },
    SOON,
  );
}

/** Nothing listens there: curl's exit code 7. */
const refuses = (host: Host, url: string): Promise<void> => answers(host, url, /^7: /);

type Step = readonly [name: string, step: (world: World) => Promise<void>];

const listenerSteps: readonly Step[] = [
  [
    'a port moves',
    async ({ west, client }) => {
      await west.apply(listener('web', '127.0.0.1', 8080, { routingKey: 'one' }));
      await answers(client, 'http://127.0.0.1:8080/who', ONE);
      await refuses(client, 'http://127.0.0.1:80/who');
    },
  ],
  [
    'a host moves to another address',
    async ({ west, client }) => {
      await west.apply(listener('web', '10.66.1.1', 8080, { routingKey: 'one' }));
      await answers(client, 'http://10.66.1.1:8080/who', ONE);
      await refuses(client, 'http://127.0.0.1:8080/who');
    },
  ],
  [
    'a host is a name with addresses of both families',
    async ({ west, client }) => {
      await west.apply(listener('web', 'localhost', 8080, { routingKey: 'one' }));
      await answers(client, 'http://127.0.0.1:8080/who', ONE);
      await answers(client, 'http://[::1]:8080/who', ONE);
      await refuses(client, 'http://10.66.1.1:8080/who');
    },
  ],
  [
    'a routing key leads elsewhere',
    async ({ west, client }) => {
      await west.apply(listener('web', '127.0.0.1', 8080, { routingKey: 'two' }));
      await answers(client, 'http://127.0.0.1:8080/who', TWO);
    },
  ],
  [
    'an unserved routing key closes the port',
    async ({ west, client }) => {
      await west.apply(listener('web', '127.0.0.1', 8080, { routingKey: 'unserved' }));
      await refuses(client, 'http://127.0.0.1:8080/who');
      await west.apply(listener('web', '127.0.0.1', 8080, { routingKey: 'one' }));
      await answers(client, 'http://127.0.0.1:8080/who', ONE);
    },
  ],
  [
    'TLS comes with its bundle, and is what clients have to speak',
    async ({ west, client, authority }) => {
      await west.bundle('web-tls', await issue(authority, 'web', { hosts: ['localhost'] }).then(({ cert, key }) => ({ cert, key })));
      await west.apply(listener('web', '127.0.0.1', 8080, { routingKey: 'one', tlsCredentials: 'web-tls' }));
      await answers(client, 'https://localhost:8080/who', ONE, ['--cacert', authority.cert]);
      assert.doesNotMatch(await said(client, 'http://localhost:8080/who'), /8001/);
      assert.match(await said(client, 'https://localhost:8080/who'), /^60: /, 'only who trusts the authority gets in');
    },
  ],
  [
    'a certificate is replaced, for those who come from then on',
    async ({ west, client, authority }) => {
      const serial = async (): Promise<string> =>
        (
          await client.attempt([
            'sh',
            '-c',
            'openssl s_client -connect 127.0.0.1:8080 </dev/null 2>/dev/null | openssl x509 -noout -serial',
          ])
        ).stdout;
      const before = await serial();
      assert.match(before, /^serial=/);
      await west.bundle('web-tls', await issue(authority, 'web', { hosts: ['localhost'] }).then(({ cert, key }) => ({ cert, key })));
      await eventually(
        'another certificate',
        async () => {
          const shown = await serial();
          return shown.startsWith('serial=') && shown !== before;
        },
        SOON,
      );
      await answers(client, 'https://localhost:8080/who', ONE, ['--cacert', authority.cert]);
    },
  ],
  [
    'clients have to present a certificate of the ca.crt once requireClientCert is true',
    async ({ west, client, authority }) => {
      await west.bundle('web-tls', { ca: authority.cert });
      await answers(client, 'https://localhost:8080/who', ONE, ['--cacert', authority.cert]);
      await west.apply(listener('web', '127.0.0.1', 8080, { routingKey: 'one', tlsCredentials: 'web-tls', requireClientCert: true }));
      await answers(client, 'https://localhost:8080/who', WITHOUT_CERTIFICATE, ['--cacert', authority.cert]);
      const person = await issue(authority, 'person');
      await answers(client, 'https://localhost:8080/who', ONE, ['--cacert', authority.cert, '--cert', person.cert, '--key', person.key]);
      const foreign = await issue(await createAuthority(`${authority.dir}/foreign`, 'Another authority'), 'person');
      const shown = ['--cert', foreign.cert, '--key', foreign.key];
      const heard = await said(client, 'https://localhost:8080/who', ['--cacert', authority.cert, ...shown]);
      assert.doesNotMatch(heard, /8001/);
    },
  ],
  [
    'TLS goes when its bundle is named no more',
    async ({ west, client }) => {
      await west.apply(listener('web', '127.0.0.1', 8080, { routingKey: 'one' }));
      await answers(client, 'http://127.0.0.1:8080/who', ONE);
    },
  ],
  [
    'an observer counts requests, for connections that come from then on',
    async ({ west, client }) => {
      const count = (): Promise<number> => west.metric('earshot_router_requests_total', { routing_key: 'one' });
      await west.apply(listener('web', '127.0.0.1', 8080, { routingKey: 'one', observer: 'none' }));
      await eventually(
        'an observer that is gone',
        async () => {
          const before = await count();
          await answers(client, 'http://127.0.0.1:8080/who', ONE);
          return (await count()) === before;
        },
        SOON,
      );
      await west.apply(listener('web', '127.0.0.1', 8080, { routingKey: 'one', settings: { observer: 'http1' } }));
      await eventually(
        'an observer by a setting',
        async () => {
          const before = await count();
          await answers(client, 'http://127.0.0.1:8080/who', ONE);
          return (await count()) > before;
        },
        SOON,
      );
    },
  ],
  [
    'a type that there is not leaves the last valid version running, and the status says so',
    async ({ west, client }) => {
      await west.apply(listener('web', '127.0.0.1', 9999, { routingKey: 'one', type: 'udp' }));
      const { message } = await west.waitFor('Listener', 'web', ({ message: words = '' }) => /spec\.type/.test(words), SOON);
      assert.match(message ?? '', /tcp/);
      await west.apply(listener('web', '127.0.0.1', 8080, { routingKey: 'one', type: 'tcp' }));
      await west.waitFor('Listener', 'web', 'Ready', SOON);
      await answers(client, 'http://127.0.0.1:8080/who', ONE);
    },
  ],
  [
    'a listener that is removed frees its port for another',
    async ({ west, client }) => {
      await west.remove('Listener', 'web');
      await refuses(client, 'http://127.0.0.1:8080/who');
      await west.apply(listener('again', '127.0.0.1', 8080, { routingKey: 'two' }));
      await answers(client, 'http://127.0.0.1:8080/who', TWO);
      await west.remove('Listener', 'again');
      await refuses(client, 'http://127.0.0.1:8080/who');
      await west.apply(listener('web', '127.0.0.1', 8080, { routingKey: 'one' }));
      await answers(client, 'http://127.0.0.1:8080/who', ONE);
    },
  ],
];

const URL = 'http://127.0.0.1:8080/who';

const connectorSteps: readonly Step[] = [
  [
    'a port moves',
    async ({ east, client }) => {
      await east.apply(connector('one', '127.0.0.1', 8002));
      await answers(client, URL, TWO);
    },
  ],
  [
    'a host moves',
    async ({ east, client }) => {
      await east.apply(connector('one', '10.66.1.2', 8001));
      await answers(client, URL, ELSEWHERE);
    },
  ],
  [
    'a host is a name, and what it means is looked up for each connection',
    async ({ east, client, server }) => {
      await server.names({ backend: ['127.0.0.1'] });
      await east.apply(connector('one', 'backend', 8001));
      await answers(client, URL, ONE);
      await server.names({ backend: ['10.66.1.2'] });
      await answers(client, URL, ELSEWHERE);
    },
  ],
  [
    'a routing key changes: the old one has no server any more, the new one has',
    async ({ east, west, client }) => {
      await east.apply(connector('one', '127.0.0.1', 8001, { routingKey: 'uno' }));
      await refuses(client, URL);
      await west.apply(listener('web', '127.0.0.1', 8080, { routingKey: 'uno' }));
      await answers(client, URL, ONE);
      await west.apply(listener('web', '127.0.0.1', 8080, { routingKey: 'one' }));
      await east.apply(connector('one', '127.0.0.1', 8001));
      await answers(client, URL, ONE);
    },
  ],
  [
    'TLS to the server, whose certificate is checked',
    async ({ east, client, authority }) => {
      await east.apply(connector('one', '127.0.0.1', 8003));
      await answers(client, URL, /The plain HTTP request was sent to HTTPS port/);
      await east.bundle('to-server', { ca: authority.cert });
      await east.apply(connector('one', '127.0.0.1', 8003, { tlsCredentials: 'to-server' }));
      await answers(client, URL, '127.0.0.1:8003 ');
    },
  ],
  [
    'a client certificate is shown where that is wanted',
    async ({ east, client, authority }) => {
      await east.bundle('to-server', await issue(authority, 'client'));
      await east.apply(connector('one', '127.0.0.1', 8003, { tlsCredentials: 'to-server', useClientCert: true }));
      await answers(client, URL, '127.0.0.1:8003 CN=client');
      await east.apply(connector('one', '127.0.0.1', 8003, { tlsCredentials: 'to-server' }));
      await answers(client, URL, '127.0.0.1:8003 ');
    },
  ],
  [
    'a server whose certificate is for another host is refused, unless the name does not matter',
    async ({ east, client }) => {
      await east.apply(connector('one', '127.0.0.1', 8004, { tlsCredentials: 'to-server' }));
      const { message } = await eventually(
        'the server to be refused',
        async () => {
          // Only a client makes it known what the server shows.
          const heard = await said(client, URL);
          const status = await east.status('Connector', 'one');
          return !/800\d/.test(heard) && status?.status === 'Error' && status;
        },
        SOON,
      );
      assert.match(message ?? '', /certificate of 127\.0\.0\.1:8004 is for DNS:other\.example, not for 127\.0\.0\.1/);
      await east.apply(connector('one', '127.0.0.1', 8004, { tlsCredentials: 'to-server', verifyHostname: false }));
      await answers(client, URL, '127.0.0.1:8004 ');
    },
  ],
  [
    'a server of another authority is refused',
    async ({ east, client, authority }) => {
      const foreign = await createAuthority(`${authority.dir}/foreign`, 'Foreign');
      await east.bundle('to-server', { ca: foreign.cert });
      await eventually('the server to be refused', async () => !/800\d/.test(await said(client, URL)), SOON);
      await east.bundle('to-server', { ca: authority.cert });
      await answers(client, URL, '127.0.0.1:8004 ');
    },
  ],
  [
    'pods cannot be selected here, and the status says what to do',
    async ({ east, client }) => {
      await east.apply(manifest('Connector', 'one', { routingKey: 'one', port: 8001, selector: 'app=web' }));
      await east.waitFor('Connector', 'one', ({ message = '' }) => /spec\.selector: .*spec\.host/.test(message), SOON);
      await refuses(client, URL);
      await east.apply(connector('one', '127.0.0.1', 8001));
      await answers(client, URL, ONE);
    },
  ],
  [
    'a second connector of the key takes over what the first leaves',
    async ({ east, client }) => {
      await east.apply(connector('spare', '127.0.0.1', 8002, { routingKey: 'one' }));
      await answers(client, URL, TWO);
      await east.remove('Connector', 'one');
      for (let asked = 0; asked < 5; asked += 1) await answers(client, URL, TWO);
      await east.apply(connector('one', '127.0.0.1', 8001));
      await east.remove('Connector', 'spare');
      await answers(client, URL, ONE);
    },
  ],
];

const multiKey = (strategy: object, more: object = {}) =>
  manifest('MultiKeyListener', 'both', { host: '127.0.0.1', port: 8090, strategy, ...more });
const BOTH = 'http://127.0.0.1:8090/who';

/** How many of some connections each server got. */
async function shares(client: Host, count: number): Promise<Readonly<Record<string, number>>> {
  // curl would keep one connection open for several URLs.
  const { stdout } = await client.attempt(['sh', '-c', `for i in $(seq ${count}); do curl -sS --max-time 5 ${BOTH}; echo; done`]);
  const lines = stdout.trim().split('\n');
  const of = (place: string): number => lines.filter((line) => `${line.trim()} ` === place).length;
  return { one: of(ONE), two: of(TWO), all: lines.length };
}

const multiKeySteps: readonly Step[] = [
  [
    'the first key of a priority takes all, and the order can be turned round',
    async ({ west, client }) => {
      await west.apply(multiKey({ priority: { routingKeys: ['one', 'two'] } }));
      await answers(client, BOTH, ONE);
      assert.deepEqual(await shares(client, 10), { one: 10, two: 0, all: 10 });
      await west.apply(multiKey({ priority: { routingKeys: ['two', 'one'] } }));
      await answers(client, BOTH, TWO);
      assert.deepEqual(await shares(client, 10), { one: 0, two: 10, all: 10 });
    },
  ],
  [
    'what the first key loses goes to the next, and comes back',
    async ({ east, client }) => {
      await east.remove('Connector', 'two');
      await answers(client, BOTH, ONE);
      await east.apply(connector('two', '127.0.0.1', 8002));
      await answers(client, BOTH, TWO);
    },
  ],
  [
    'weights share, and change',
    async ({ west, client }) => {
      // The kind of a strategy is for a new resource.
      await west.remove('MultiKeyListener', 'both');
      await refuses(client, BOTH);
      await west.apply(multiKey({ weighted: { routingKeys: { one: 1, two: 1 } } }));
      await answers(client, BOTH, /127/);
      const even = await shares(client, 40);
      assert.ok((even['one'] ?? 0) >= 5 && (even['two'] ?? 0) >= 5, JSON.stringify(even));
      await west.apply(multiKey({ weighted: { routingKeys: { one: 0, two: 1 } } }));
      await eventually('none for a weight of zero', async () => (await shares(client, 10))['two'] === 10, SOON);
      await west.apply(multiKey({ weighted: { routingKeys: { one: 1, two: 0 } } }));
      await eventually('all for the other', async () => (await shares(client, 10))['one'] === 10, SOON);
    },
  ],
  [
    'its port and host move, it speaks TLS, and asks for certificates',
    async ({ west, client, authority }) => {
      const strategy = { weighted: { routingKeys: { one: 1, two: 0 } } };
      await west.apply(multiKey(strategy, { port: 8091, host: '10.66.1.1' }));
      await answers(client, 'http://10.66.1.1:8091/who', ONE);
      await refuses(client, BOTH);
      await west.bundle('both-tls', await issue(authority, 'both', { hosts: ['localhost'] }));
      await west.apply(multiKey(strategy, { tlsCredentials: 'both-tls' }));
      await answers(client, 'https://localhost:8090/who', ONE, ['--cacert', authority.cert]);
      await west.apply(multiKey(strategy, { tlsCredentials: 'both-tls', requireClientCert: true }));
      await answers(client, 'https://localhost:8090/who', WITHOUT_CERTIFICATE, ['--cacert', authority.cert]);
      const person = await issue(authority, 'somebody');
      await answers(client, 'https://localhost:8090/who', ONE, ['--cacert', authority.cert, '--cert', person.cert, '--key', person.key]);
    },
  ],
];

async function takeSteps(t: TestContext, steps: readonly Step[], prepare: (world: World) => Promise<void> = async () => {}): Promise<void> {
  await using world = await startWorld(t);
  await prepare(world);
  for (const [name, step] of steps) {
    await t.test(name, async () => {
      await step(world);
      await world.steady.unharmed();
    });
  }
}

test('every field of a listener changes while it runs', (t) => takeSteps(t, listenerSteps));

test('every field of a connector changes while it runs', (t) =>
  takeSteps(t, connectorSteps, async ({ west, client }) => {
    await west.apply(listener('web', '127.0.0.1', 8080, { routingKey: 'one' }));
    await answers(client, URL, ONE);
  }));

test('every field of a multi-key listener changes while it runs', (t) => takeSteps(t, multiKeySteps));
