/** Effect of each command and option of Skupper's command line (main at 80b1ba6, and two since). Help, notes and refusals follow it. */

export type Answer =
  /** Works. `note` is a difference. */
  | { readonly does: 'same'; readonly note?: string }
  /** Accepted. `note` is a clause that says why it has no effect. */
  | { readonly does: 'ignored'; readonly note: string; readonly choices?: readonly string[] }
  /** Ends with exit code 2. `note` says why and what to use instead. */
  | { readonly does: 'refused'; readonly note: string };

export interface SkupperCommand {
  /** Default: it works. */
  readonly answer?: Answer;
  /** By flags, as commander reads them. */
  readonly options?: Readonly<Record<string, Answer>>;
}

const same = { does: 'same' } as const;
const differs = (note: string): Answer => ({ does: 'same', note });
const refused = (note: string): Answer => ({ does: 'refused', note });

const place = { '-p, --platform': same, '-n, --namespace': same, '-c, --context': same, '--kubeconfig': same };
const timeout = { '--timeout': same };
const waits = { '--wait': same, ...timeout };
const output = { '-o, --output': same };
const site = { '--enable-link-access': same, '--link-access-type': same, '--enable-ha': same };
const listener = { '--routing-key': same, '--host': same, '--tls-credentials': same, '--type': same };
const connector = { ...listener, '--include-not-ready': same, '--selector': same, '--workload': same };
const NO_LOGIN = { does: 'ignored', note: 'a link replaces the password' } as const;

/** By words of the command; the options of `''` are those of every command. */
export const skupperCommands: Readonly<Record<string, SkupperCommand>> = {
  '': { options: place },
  'site create': { options: { ...site, ...waits } },
  'site update': { options: { ...site, ...waits } },
  'site delete': { options: { '--all': same, ...waits } },
  'site status': { options: output },
  'site generate': { options: { ...site, ...output } },
  'listener create': { options: { ...listener, ...waits } },
  'listener update': { options: { ...listener, '--port': same, ...waits } },
  'listener delete': { options: waits },
  'listener status': { options: output },
  'listener generate': { options: { ...listener, ...output } },
  'connector create': { options: { ...connector, ...waits } },
  'connector update': { options: { ...connector, '--port': same, ...waits } },
  'connector delete': { options: waits },
  'connector status': { options: output },
  'connector generate': { options: { ...connector, ...output } },
  'link generate': {
    answer: differs('a name may follow'),
    options: {
      '--tls-credentials': same,
      '--cost': same,
      '--generate-credential': same,
      '--name': differs('name of the RouterAccess that the link leads to'),
      '--host': same,
      ...timeout,
      ...output,
    },
  },
  'link update': { options: { '--tls-credentials': same, '--cost': same, ...waits } },
  'link delete': { options: waits },
  'link status': { options: output },
  'token issue': {
    answer: differs('also on machines'),
    options: { '--redemptions-allowed': same, '--expiration-window': same, '--cost': same, ...timeout },
  },
  'token redeem': { options: timeout },
  version: { answer: differs('prints several lines; `earshot --version` prints the number alone') },
  manifest: { options: output },
  'debug dump': { answer: differs('a name with an extension is used as it is') },
  'debug conn': { answer: differs('in a cluster, it needs a Certificate with the setting `purpose: api`') },
  'debug sweep': {
    answer: refused('it belongs to the network observer of Skupper. Use `earshot network`, `earshot console` and the metrics instead'),
  },
  'system install': {
    answer: differs('starts the site too; `--no-start` only writes the unit'),
    options: {
      '--reload-type <type>': {
        does: 'ignored',
        note: 'the site adopts changes of its files within a second',
        choices: ['manual', 'auto'],
      },
    },
  },
  'system uninstall': {
    answer: differs('ends one namespace and keeps its files; `--purge` deletes them'),
    options: { '-f, --force': same },
  },
  'system start': {
    answer: differs('needs the unit that `system install` writes; with `--platform podman` or `docker` it installs the site if necessary'),
  },
  'system stop': { answer: differs('keeps the namespace; `system uninstall --purge` deletes it') },
  'system reload': { answer: differs('only skips the wait of a second') },
  'system apply': { options: { '-f, --filename': same } },
  'system delete': { answer: differs('also by kind and names'), options: { '-f, --filename': same } },
  'system generate-bundle': {
    answer: differs('the site gets its identity on the target, which needs `earshot` there'),
    options: { '--input': same, '--type': same },
  },
  'system network-observer': {
    answer: differs('serves 127.0.0.1 only; `earshot console link` prints a link'),
    options: { '--username <name>': NO_LOGIN, '--password <password>': NO_LOGIN, '--uninstall': same },
  },
};

/** Long and short name of an option, such as `--output` and `-o`. */
export function namesIn(flags: string): { readonly long: string; readonly short?: string } {
  const words = flags.split(/[ ,]+/);
  const short = words.find((word) => /^-[a-z]$/i.test(word));
  return { long: words.find((word) => word.startsWith('--')) ?? '', ...(short === undefined ? {} : { short }) };
}
