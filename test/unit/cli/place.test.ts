import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  choosePlatform,
  clusterFlags,
  clusterNamespace,
  machineFlags,
  machineNamespace,
  placeAdvice,
  type Findings,
  type PlaceWords,
} from '../../../src/cli/place.ts';
import { commandIn } from '../../../src/text/command-in.ts';

const nothing: Findings = { hasNamespace: false, kubeconfigs: [], isPod: false };
const kubeconfigs = ['/root/.kube/config'];

describe('which platform a command works on', () => {
  const rows: readonly (readonly [
    what: string,
    words: PlaceWords,
    environment: Record<string, string>,
    found: Partial<Findings>,
    answer: string,
  ])[] = [
    ['nothing is there', {}, {}, {}, 'linux'],
    ['there is a kubeconfig', {}, {}, { kubeconfigs }, 'kubernetes'],
    ['this is a pod', {}, {}, { isPod: true }, 'kubernetes'],
    ['the machine has the namespace', {}, {}, { kubeconfigs, hasNamespace: true }, 'linux'],
    ['it is typed', { platform: 'kubernetes' }, { EARSHOT_PLATFORM: 'linux' }, { hasNamespace: true }, 'kubernetes'],
    ['this machine is typed', { platform: 'linux' }, { SKUPPER_PLATFORM: 'kubernetes' }, { kubeconfigs }, 'linux'],
    ['a context is typed', { context: 'here' }, {}, { hasNamespace: true }, 'kubernetes'],
    ['a kubeconfig is typed', { kubeconfig: '/k' }, {}, { hasNamespace: true }, 'kubernetes'],
    ['the environment says it', {}, { EARSHOT_PLATFORM: 'kubernetes' }, { hasNamespace: true }, 'kubernetes'],
    ['the environment says it as Skupper knows it', {}, { SKUPPER_PLATFORM: 'linux' }, { kubeconfigs }, 'linux'],
    ['it is typed as Skupper knows it', { platform: 'podman' }, { SKUPPER_PLATFORM: 'docker' }, { kubeconfigs }, 'podman'],
    ['the environment says it as Skupper knows it', {}, { SKUPPER_PLATFORM: 'docker' }, { kubeconfigs }, 'docker'],
    ['both do', {}, { SKUPPER_PLATFORM: 'linux', EARSHOT_PLATFORM: 'kubernetes' }, {}, 'kubernetes'],
    ['it says where namespaces of the machine are', {}, { EARSHOT_HOME: '/tmp/x' }, { kubeconfigs }, 'linux'],
  ];
  for (const [what, words, environment, found, answer] of rows) {
    it(`${answer}, where ${what}`, () => {
      assert.equal(choosePlatform(words, environment, { ...nothing, ...found }).platform, answer);
    });
  }

  it('is printed with advice for the other one if neither was named and both exist', () => {
    const told = (words: PlaceWords, found: Partial<Findings>): string | undefined =>
      placeAdvice(choosePlatform(words, {}, { ...nothing, ...found }), 'the namespace x');
    assert.equal(
      told({}, { kubeconfigs }),
      'The command uses the namespace x; for a site of this machine, add --platform linux, or set EARSHOT_PLATFORM.',
    );
    assert.match(told({}, { kubeconfigs, hasNamespace: true }) ?? '', /for a site of the cluster, add --platform kubernetes/);
    assert.equal(told({}, {}), undefined);
    assert.equal(told({ platform: 'kubernetes' }, { kubeconfigs }), undefined);
  });

  it('cannot be one that does not exist', () => {
    assert.throws(() => choosePlatform({}, { SKUPPER_PLATFORM: 'lxc' }, nothing), {
      code: 'usage',
      message: /SKUPPER_PLATFORM is "lxc", which is not a platform; use one of kubernetes, linux, podman, docker/,
    });
    for (const platform of ['linux', 'podman'])
      assert.throws(() => choosePlatform({ platform, context: 'x' }, {}, nothing), { code: 'usage', message: /select clusters/ });
  });
});

describe('the namespace', () => {
  it('is what is typed, then that of the environment, then that of the context, then default', () => {
    const env = { EARSHOT_NAMESPACE: 'b' };
    assert.equal(clusterNamespace({ namespace: 'a' }, env, 'c'), 'a');
    assert.equal(clusterNamespace({}, env, 'c'), 'b');
    assert.equal(clusterNamespace({}, {}, 'c'), 'c');
    assert.equal(clusterNamespace({}, {}, undefined), 'default');
    assert.deepEqual([machineNamespace({}, env), machineNamespace({}, {})], ['b', 'default']);
  });

  it('is one that can be', () => {
    assert.throws(() => clusterNamespace({ namespace: '../x' }, {}, undefined), { code: 'bad-name' });
  });
});

describe('a command that is proposed', () => {
  it('comes to the same cluster', () => {
    const flags = clusterFlags({ platform: 'kubernetes', context: "a b's", namespace: 'west' });
    assert.equal(commandIn({ commandFlags: flags }, 'status'), "`earshot --platform kubernetes --context 'a b'\\''s' -n west status`");
    assert.equal(clusterFlags({}), '');
  });

  it('comes to this machine again where that was typed', () => {
    assert.equal(machineFlags({ platform: 'linux' }, 'west'), ' --platform linux -n west');
  });
});
