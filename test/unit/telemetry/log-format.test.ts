import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chooseFormat, formatLine } from '../../../src/telemetry/log-format.ts';
import { logLevels } from '../../../src/telemetry/log.ts';

const entry = (fields: object): string =>
  `${JSON.stringify({ level: 'info', time: '2030-01-01T00:00:00.000Z', component: 'router', message: 'running', ...fields })}\n`;

describe('a log', () => {
  const facts = { isTerminal: false, device: 8n, inode: 42n, journalStream: undefined };
  for (const [what, given, expected] of [
    ['is text on a terminal', { isTerminal: true }, 'text'],
    ['is JSON in a file or a pipe', {}, 'json'],
    ['has priorities in the journal', { journalStream: '8:42' }, 'journal'],
    ['is JSON where the journal is that of a parent', { journalStream: '8:43' }, 'json'],
    ['is text on a terminal of a service', { isTerminal: true, journalStream: '8:42' }, 'text'],
  ] as const)
    it(what, () => assert.equal(chooseFormat({ ...facts, ...given }), expected));

  it('has a priority for each level in the journal, and is JSON behind it', () => {
    const priorities = logLevels.map((level) => formatLine(entry({ level }), 'journal').slice(0, 3));
    assert.deepEqual(priorities, ['<7>', '<7>', '<6>', '<4>', '<3>', '<2>', '<6>']);
    assert.equal(formatLine(entry({}), 'journal'), `<6>${entry({})}`);
  });

  it('is one line for people, with the fields of the entry', () => {
    const fields = { namespace: 'west', httpPort: 9100, where: 'a b', deep: { a: [1] } };
    assert.equal(
      formatLine(entry(fields), 'text'),
      '2030-01-01T00:00:00.000Z INFO  running namespace=west httpPort=9100 where="a b" deep={"a":[1]}\n',
    );
  });

  it('shows an error with its causes, and its stack where it is a fault', () => {
    const error = { type: 'Error', message: 'failed', stack: 'Error: failed\n    at here', cause: { message: 'refused' } };
    assert.match(formatLine(entry({ level: 'warn', error }), 'text'), / WARN {2}running error="failed: refused"\n$/);
    assert.match(formatLine(entry({ level: 'error', error }), 'text'), / ERROR running error="failed: refused"\n {4}at here\n$/);
  });

  it('lets no text of others forge a line or steer the terminal', () => {
    const text = formatLine(entry({ message: 'a\n2030 ERROR forged\u001b[2J', site: '\u202Ex\n', error: { message: 'y\nz' } }), 'text');
    assert.equal(text.split('\n').length, 2);
    assert.ok(!text.includes('\u001b') && !text.includes('\u202E'), text);
  });

  it('shows what is not an entry as it is', () => {
    for (const line of ['(node:1) Warning: x', '{"a":1}', '{', '{"message":']) assert.equal(formatLine(`${line}\n`, 'text'), `${line}\n`);
  });
});
