import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parse } from 'yaml';
import { anyText } from '../support/any-text.ts';
import { readToken } from '../../../src/trust/tokens/token.ts';
import { TrustError } from '../../../src/trust/errors.ts';
import { writeYaml } from '../../../src/text/write-yaml.ts';
import { refusal } from './support/refusal.ts';
import { makeAuthority } from './support/site.ts';

const { ca } = makeAuthority();
const token = { name: 'to-west', url: 'https://west.example.com:9090/v1/redeem/g', code: 'the code 1234', ca, linkCost: 2 };
const { name, ...spec } = token;
const text = writeYaml({ apiVersion: 'skupper.io/v2alpha1', kind: 'AccessToken', metadata: { name }, spec });

describe('A token file', () => {
  it('is one AccessToken, and is read as it was written', () => {
    const resource = parse(text) as Record<string, unknown>;
    assert.deepEqual([resource['apiVersion'], resource['kind']], ['skupper.io/v2alpha1', 'AccessToken']);
    assert.deepEqual(readToken(text, 'token.yaml'), token);
    assert.deepEqual(readToken(`---\n${text}---\n`, 'token.yaml'), token, 'empty documents beside it are nothing');
    assert.deepEqual(readToken(text.replaceAll('\n', '\r\n'), 'token.yaml').code, token.code);
  });

  it('costs 1 where 0 is written', () => {
    assert.equal(readToken(text.replace('linkCost: 2', 'linkCost: 0'), 'token.yaml').linkCost, 1);
  });

  it('as JSON and with fields that are not known is read too', async () => {
    const resource = {
      apiVersion: 'skupper.io/v2alpha1',
      kind: 'AccessToken',
      metadata: { name: 'x', uid: 'y' },
      spec: { ...token, name: undefined, more: [1] },
      status: { status: 'Ready' },
    };
    assert.equal(readToken(JSON.stringify(resource), 'token.json').code, token.code);
  });

  const mangled: readonly [string, string, RegExp][] = [
    ['an empty file', '', /is empty/],
    ['only a comment', '# nothing\n', /is empty/],
    ['plain text', 'hello', /the file must contain fields/],
    ['another kind', text.replace('AccessToken', 'Link'), /kind must be AccessToken, not a "Link"/],
    ['another version', text.replace('v2alpha1', 'v1'), /apiVersion/],
    ['two tokens', `${text}---\n${text}`, /several resources/],
    ['no spec', text.slice(0, text.indexOf('spec:')), /spec must contain fields/],
    ['no code', text.replace(/^ {2}code:.*\n/m, ''), /spec\.code/],
    ['a code that is a number', text.replace('the code 1234', '1234'), /spec\.code must be a text/],
    ['a url without https', text.replace('https:', 'http:'), /spec\.url must begin with "https:/],
    ['a url that cannot be decoded', text.replace('redeem/g', 'redeem/%'), /contains an invalid "%"/],
    ['a url with a password', text.replace('https://', 'https://a:b@'), /user name or password/],
    ['a url without a path', text.replace('/v1/redeem/g', '/'), /path of a grant/],
    ['no url', text.replace('https://west.example.com:9090/v1/redeem/g', 'west'), /spec\.url must be a URL/],
    ['a cut certificate', text.slice(0, text.indexOf('-----END')), /spec\.ca is not PEM/],
    ['a certificate with a wrong character', text.replace('MII', 'M§I'), /line 2 is not base64/],
    ['a damaged certificate', text.replace('MII', 'MIA'), /spec\.ca/],
    ['a cost below none', text.replace('linkCost: 2', 'linkCost: -1'), /spec\.linkCost/],
    ['a cost in words', text.replace('linkCost: 2', 'linkCost: two'), /spec\.linkCost/],
    ['a name that is a path', text.replace('to-west', '../../etc'), /metadata\.name/],
    ['a name with nothing between two dots', text.replace('to-west', 'to..west'), /metadata\.name/],
    ['broken YAML', text.replace('spec:', 'spec: {'), /line \d+ is not YAML/],
    ['a field twice', text.replace('kind:', 'kind: AccessToken\nkind:'), /line 3 is not YAML \(duplicate key\)/],
    ['more aliases than anyone needs', `a: &a [x]\nb: [${'*a,'.repeat(100)}]\n`, /aliases/],
    ['an alias of nothing', 'a: *a\n', /aliases/],
    ['an endless nest', '['.repeat(100_000), /nested/],
    ['an endless nest of lines', Array.from({ length: 500 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'), /nested/],
    ['an endless nest by tabs', '-\t'.repeat(5_000), /nested|not YAML/],
    ['an endless nest in one line', '- '.repeat(5_000), /nested/],
    ['a huge file', `# ${'x'.repeat(300_000)}`, /more than 131072 bytes/],
  ];
  for (const [what, content, words] of mangled) {
    it(`is refused as ${what}, with its name and no secret`, async () => {
      assert.throws(
        () => readToken(content, '/home/me/token.yaml'),
        (error: unknown) => {
          refusal('token-mangled', /^\/home\/me\/token\.yaml is not a valid token: /, words)(error);
          assert.doesNotMatch(String(error), /the code 1234/);
          return true;
        },
      );
    });
  }

  it('blown up by aliases is refused without being built', async () => {
    const bomb = Array.from(
      { length: 20 },
      (_, level) => `a${level}: &a${level} [${level === 0 ? 'x' : Array.from({ length: 9 }, () => `*a${level - 1}`).join(',')}]`,
    ).join('\n');
    assert.throws(() => readToken(bomb, 'bomb.yaml'), refusal('token-mangled', /aliases/));
  });

  it('is read or refused, whatever is in it', async () => {
    const either = async (content: string): Promise<void> => {
      try {
        readToken(content, 'it');
      } catch (error) {
        assert.ok(error instanceof TrustError && error.code === 'token-mangled', String(error));
      }
    };
    await fc.assert(fc.asyncProperty(anyText(), either), { numRuns: 60 });
    const edits = fc.array(fc.tuple(fc.nat(text.length), fc.nat(20), anyText({ maxLength: 5 })), { minLength: 1, maxLength: 4 });
    const edited = edits.map((all) =>
      all.reduce((before, [at, length, insert]) => before.slice(0, at) + insert + before.slice(at + length), text),
    );
    await fc.assert(fc.asyncProperty(edited, either), { numRuns: 60 });
  });
});
