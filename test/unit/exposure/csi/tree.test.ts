import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isSegment, planChange, treeOf, type Observed, type Step } from '../../../../src/exposure/csi/tree.ts';
import { tree } from './volume-folder.ts';

const empty: Observed = { addresses: 'absent', content: new Map(), isWhole: false, current: [] };

function plan(observed: Observed, wanted: ReturnType<typeof tree>): readonly Step[] {
  let count = 0;
  return planChange(observed, wanted, () => `..${(count += 1)}`);
}

function shows(shown: ReturnType<typeof tree>): Observed {
  return { addresses: 'generation', primary: shown.primary, content: shown.addresses, isWhole: true, current: ['..0'] };
}

describe('the plan of a change', () => {
  it('points at the first tree only when it is whole, and names the primary address last', () => {
    assert.deepEqual(plan(empty, tree('a', { a: { http: 80 } })), [
      { kind: 'write', generation: '..1', content: new Map([['a', new Map([['http', 80]])]]) },
      { kind: 'link', name: 'addresses', text: '..1' },
      { kind: 'link', name: 'default-address', text: 'addresses/a' },
      { kind: 'tidy', keep: ['..1'] },
    ]);
  });

  it('is empty where the volume shows what is wanted', () => {
    const shown = tree('a', { a: { http: 80 }, b: {} });
    assert.deepEqual(plan(shows(shown), shown), []);
  });

  it('replaces one link where the primary address stays, and keeps what readers may still hold', () => {
    assert.deepEqual(plan(shows(tree('a', { a: { http: 80 } })), tree('a', { a: { http: 81 } })).slice(1), [
      { kind: 'link', name: 'addresses', text: '..1' },
      { kind: 'tidy', keep: ['..0', '..1'] },
    ]);
  });

  it('keeps the former primary address for a moment where it goes away', () => {
    assert.deepEqual(plan(shows(tree('a', { a: { http: 80 } })), tree('b', { b: { http: 80 } })), [
      {
        kind: 'write',
        generation: '..2',
        content: new Map([
          ['b', new Map([['http', 80]])],
          ['a', new Map([['http', 80]])],
        ]),
      },
      { kind: 'write', generation: '..1', content: new Map([['b', new Map([['http', 80]])]]) },
      { kind: 'link', name: 'addresses', text: '..2' },
      { kind: 'link', name: 'default-address', text: 'addresses/b' },
      { kind: 'settle' },
      { kind: 'link', name: 'addresses', text: '..1' },
      { kind: 'tidy', keep: ['..0', '..2', '..1'] },
    ]);
  });

  it('needs no such moment where the former primary address stays as another', () => {
    const steps = plan(shows(tree('a', { a: {}, b: {} })), tree('b', { a: {}, b: {} }));
    assert.deepEqual(
      steps.map(({ kind }) => kind),
      ['write', 'link', 'link', 'tidy'],
    );
  });

  it('leads around the folder of an earlier system while that is replaced', () => {
    const observed: Observed = { ...shows(tree('a', { a: {} })), addresses: 'folder', current: [] };
    assert.deepEqual(plan(observed, tree('b', { b: {} })), [
      { kind: 'write', generation: '..1', content: new Map([['b', new Map()]]) },
      { kind: 'link', name: 'default-address', text: '..1/b' },
      { kind: 'aside', name: 'addresses', hidden: '..2' },
      { kind: 'link', name: 'addresses', text: '..1' },
      { kind: 'link', name: 'default-address', text: 'addresses/b' },
      { kind: 'tidy', keep: ['..1', '..2'] },
    ]);
  });

  it('leaves the folder of an earlier system as it is while it says what is true', () => {
    const shown = tree('a', { a: { http: 80 } });
    assert.deepEqual(plan({ ...shows(shown), addresses: 'folder', current: [] }, shown), []);
  });

  for (const [what, wanted] of [
    ['a port number', tree('a', { a: { http: 81 } })],
    ['a port name', tree('a', { a: { https: 80 } })],
    ['one port more', tree('a', { a: { http: 80, https: 443 } })],
    ['one port less', tree('a', { a: {} })],
    ['one address more', tree('a', { a: { http: 80 }, b: {} })],
    ['another primary address', tree('b', { b: { http: 80 } })],
  ] as const) {
    it(`is not empty where ${what} differs`, () => {
      assert.notEqual(plan(shows(tree('a', { a: { http: 80 } })), wanted).length, 0);
    });
  }
});

describe('the tree of an entry', () => {
  const ingress = (address: string, ports: Record<string, number>) => ({ address, addressType: 'IP' as const, ports });

  it('takes the first address as the primary one', () => {
    const entry = { ingressAddresses: [ingress('fd00::1', { http: 80 }), ingress('10.0.0.1', { http: 81 })] };
    assert.deepEqual(treeOf(entry), tree('fd00::1', { 'fd00::1': { http: 80 }, '10.0.0.1': { http: 81 } }));
  });

  it('is absent as long as there is no address', () => {
    assert.equal(treeOf({ ingressAddresses: [] }), undefined);
    assert.equal(treeOf({ ingressAddresses: null }), undefined);
    assert.equal(treeOf({}), undefined);
  });

  it('joins the ports of an address that is listed twice, the first number of a name counting', () => {
    const entry = { ingressAddresses: [ingress('a', { http: 80 }), ingress('a', { http: 81, https: 443 })] };
    assert.deepEqual(treeOf(entry), tree('a', { a: { http: 80, https: 443 } }));
  });

  it('holds names that mean something to JavaScript', () => {
    const ports = Object.fromEntries([
      ['__proto__', 80],
      ['constructor', 81],
      ['toString', 82],
    ]);
    assert.deepEqual(
      [...(treeOf({ ingressAddresses: [ingress('a', ports)] })?.addresses.get('a') ?? [])],
      [
        ['__proto__', 80],
        ['constructor', 81],
        ['toString', 82],
      ],
    );
  });

  for (const address of [
    '',
    '.',
    '..',
    '..data',
    'a/b',
    '/etc',
    '../x',
    'a\0',
    'a\nb',
    'a\u0085',
    'a\u2028',
    '\ud800',
    'x'.repeat(254),
    'é'.repeat(127),
  ]) {
    it(`is refused for the address ${JSON.stringify(address.slice(0, 20))}, by the name of its field`, () => {
      const entry = { ingressAddresses: [ingress('ok', {}), ingress(address, {})] };
      assert.throws(() => treeOf(entry), { code: 'csi-address', message: /^ingressAddresses\[1\]\.address is "/ });
    });
    it(`is refused for the port name ${JSON.stringify(address.slice(0, 20))}`, () => {
      const tooLong = address.length > 100 ? address + address : address;
      const entry = { ingressAddresses: [ingress('ok', { [tooLong]: 80 })] };
      assert.throws(() => treeOf(entry), { code: 'csi-address', message: /^ingressAddresses\[0\]\.ports is "/ });
    });
  }

  for (const number of [0, -1, 65_536, 1.5, Number.NaN]) {
    it(`is refused for the port number ${number}`, () => {
      const entry = { ingressAddresses: [ingress('ok', { http: number })] };
      assert.throws(() => treeOf(entry), { code: 'csi-address', message: /ports\["http"\] is .* not a port number/ });
    });
  }

  it('says nothing over several lines, whatever the names hold', () => {
    assert.throws(
      () => treeOf({ ingressAddresses: [ingress('a\nlevel=error b', {})] }),
      (error: Error) => !error.message.includes('\n'),
    );
  });
});

describe('a segment', () => {
  for (const name of ['a', 'a.b', 'fe80::1%eth0', '.hidden', 'x'.repeat(255), 'é', ' ', '-rf', 'a..b']) {
    it(`may be ${JSON.stringify(name.slice(0, 20))}`, () => assert.equal(isSegment(name), true));
  }
});
