import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { describeMissingSite, requireNamespaceHere } from '../../../src/cli/actions/console-namespace.ts';
import { clusterOf, type ClusterContent } from '../explain/support-cluster.ts';
import { Namespace } from './namespace.ts';

// The command itself would re-execute this process with its V8 flags.
suite('a console of a mistyped namespace of this machine', () => {
  test('does not start, and names the namespaces that exist', async () => {
    await using west = await Namespace.make();
    await west.earshot(['site', 'create', 'west']);
    await west.earshot(['site', 'create', 'east', '-n', 'east']);
    await requireNamespaceHere('west');
    await assert.rejects(requireNamespaceHere('wset'), {
      code: 'not-found',
      message: 'The namespace wset of this machine does not exist; did you mean west? Namespaces of this machine: east, west.',
    });
  });

  test('advises to create a site if this machine does not have a namespace', async () => {
    await using _west = await Namespace.make();
    await assert.rejects(requireNamespaceHere('west'), {
      code: 'not-found',
      message: 'The namespace west of this machine does not exist. Create a site there with `earshot -n west site create NAME`.',
    });
  });
});

suite('a console of a mistyped namespace of a cluster', () => {
  const site = (namespace: string) => ({ metadata: { name: 'a', namespace } });
  const namespace = (name: string) => ({ metadata: { name } });
  const both = { sites: [site('west'), site('east')], namespaces: ['west', 'east', 'plain'].map(namespace) };
  const describe = (name: string, content: ClusterContent = { objects: both }, here: readonly string[] = []) =>
    describeMissingSite({ client: clusterOf(content), place: { namespace: name, cluster: 'the cluster' } }, here);

  test('has a warning with the namespaces that have a Site', async () => {
    assert.equal(
      await describe('wset'),
      'The namespace wset of the cluster does not exist; did you mean west? Namespaces with a Site: east, west.',
    );
  });

  test('also names namespaces of this machine, if one may be meant', async () => {
    assert.match(
      (await describe('hme', undefined, ['home'])) ?? '',
      /did you mean home\? Namespaces with a Site: east, west\. Namespaces of this machine: home\.$/,
    );
  });

  test('says that a namespace does not have a Site if it exists, or if the user may not find out', async () => {
    const says = 'The namespace plain of the cluster does not have a Site. Namespaces with a Site: east, west.';
    assert.equal(await describe('plain'), says);
    assert.equal(await describe('plain', { objects: both, denied: ['namespaces'] }), says);
  });

  test('has none with a Site, without a right to list Sites, or without the connection half', async () => {
    assert.equal(await describe('west'), undefined);
    assert.equal(await describe('wset', { objects: both, denied: ['sites'] }), undefined);
    assert.equal(await describe('plain', { objects: both, undefinedKinds: ['sites'] }), undefined);
    assert.match(
      (await describe('plian', { objects: both, undefinedKinds: ['sites'] })) ?? '',
      /^The namespace plian .* does not exist\.$/,
    );
  });
});
