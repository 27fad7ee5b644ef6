import { writeFile } from 'node:fs/promises';
import { at, cli, parseTranscript, type Member, type Place, type Transcript } from './redis.ts';
import { hopping, keyOfEachSlot, SLOTS } from './slots.ts';
import type { Tour } from './tour.ts';

/** A client outside writes one key into each slot, beginning at one server and following redirections, and reads them back from another. */
export async function writeAndRead(tour: Tour, members: readonly Member[]): Promise<void> {
  const { narrator, shell } = tour;
  const [first, last] = [members[0], members.at(-1)];
  if (first === undefined || last === undefined) throw new TypeError('no members');
  const keys = hopping(keyOfEachSlot());
  const file = `${shell.folder}/write.txt`;
  await writeFile(file, keys.map((key) => `set ${key} ${valueOf(key)}\n`).join(''));
  narrator.say(`
    A client outside knows one server. It writes a key into each of the ${SLOTS} slots; a server that does not have the slot names
    the address of the one that does, and the client (redis-cli -c) goes there.`);
  narrator.say(`write.txt holds lines like: set ${keys[0]} ${valueOf(keys[0] ?? '')}`);
  const printed = await shell.run(`${cli(first)} -c --no-raw < ${file}`, { head: 5, tail: 2 });
  const written = parseTranscript(printed, at(first));
  tellWhoAnswered(tour, members, written);
  const accepted = written.answers.filter(({ reply }) => reply === 'OK').length;
  narrator.claim(`all ${SLOTS} keys written`, written.answers.length === SLOTS && accepted === SLOTS, oddReplies(written, 'OK'));
  const masters = new Set(written.answers.map(({ server }) => server));
  const nodes = nodesOf(members, masters);
  narrator.claim(
    `${masters.size} servers answered, on ${nodes.size} nodes, and the client was sent from one to another ${written.redirections} times`,
    masters.size === 3 && nodes.size === 2,
    [...masters].join(', '),
  );

  const counts = await Promise.all(
    [...masters].map(async (place) => {
      const [address = '', port = ''] = place.split(':');
      return Number(await shell.run(`${cli({ address, port: Number(port) })} dbsize`, { silent: true }));
    }),
  );
  const sum = counts.reduce((total, count) => total + count, 0);
  narrator.claim(`by their own count (DBSIZE) the masters hold ${counts.join(' + ')} = ${SLOTS} keys`, sum === SLOTS, String(sum));
  narrator.say('The same keys read back, beginning at another server:');
  await readAll(tour, members, last);
}

/** Reads every key from outside, beginning at `start`; claims that each has its value, and returns who answered. */
export async function readAll(tour: Tour, members: readonly Member[], start: Place): Promise<Transcript> {
  const { narrator, shell } = tour;
  const keys = hopping(keyOfEachSlot());
  const file = `${shell.folder}/read.txt`;
  await writeFile(file, keys.map((key) => `get ${key}\n`).join(''));
  const read = parseTranscript(await shell.run(`${cli(start)} -c --no-raw < ${file}`, { head: 3, tail: 1 }), at(start));
  tellWhoAnswered(tour, members, read);
  const wrong = keys.flatMap((key, index) => {
    const reply = read.answers[index]?.reply;
    return reply === `"${valueOf(key)}"` ? [] : [`${key} is ${reply}`];
  });
  const seen = `${read.answers.length} replies, ${wrong.length} wrong: ${wrong.slice(0, 3).join(', ')}`;
  narrator.claim(`all ${SLOTS} keys read, each with its value`, read.answers.length === SLOTS && wrong.length === 0, seen);
  return read;
}

function tellWhoAnswered({ narrator }: Tour, members: readonly Member[], transcript: Transcript): void {
  const counts = Map.groupBy(transcript.answers, ({ server }) => server);
  const rows = [...counts].map(([server, answers]) => {
    const member = members.find((candidate) => at(candidate) === server);
    return [server, member?.pod ?? 'another address', member?.node ?? '', answers.length] as const;
  });
  narrator.table([['ANSWERED AT', 'POD', 'NODE', 'KEYS'], ...rows.sort((a, b) => a[1].localeCompare(b[1]))]);
}

function nodesOf(members: readonly Member[], places: ReadonlySet<string>): ReadonlySet<string> {
  return new Set(members.filter((member) => places.has(at(member))).map(({ node }) => node));
}

function oddReplies(transcript: Transcript, expected: string): string {
  const odd = transcript.answers.map(({ reply }) => reply).filter((reply) => reply !== expected);
  return `${transcript.answers.length} replies, ${odd.length} of them not ${expected}: ${odd.slice(0, 3).join(' | ')}`;
}

function valueOf(key: string): string {
  return key.replace('key', 'value');
}
