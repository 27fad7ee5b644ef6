/** Problems of a site with their time and remedy, the most severe first (pure). The words are those of the statuses. */
import { catalogue } from '../errors/catalogue.ts';
import { codeOfReason } from '../errors/condition-reason.ts';
import { headline, listNotReady, type NotReady } from '../site/overview.ts';
import { similarKey, similarKeyText } from '../site/similar-key.ts';
import { nameOf, type SiteObject } from '../site/resources.ts';
import { printable } from '../text/printable.ts';
import type { ConditionView, ProblemView } from './contract.ts';
import type { Facts } from './facts.ts';

export function listProblems(facts: Facts): readonly ProblemView[] {
  const byKey = new Map(facts.objects.map((object) => [`${object.kind}/${nameOf(object)}`, object]));
  const notReady = listNotReady(facts.objects, facts.at).map((one) => resourceProblem(one, byKey.get(`${one.kind}/${one.name}`), facts));
  const named = new Set(notReady.map(({ object }) => object));
  // If nothing runs, every status says so.
  const resources = facts.notRunning === undefined ? [...notReady, ...silentLinks(facts, named), ...silentSites(facts)] : [];
  const all = [...placeProblems(facts), ...fileProblems(facts), ...resources, ...(facts.exposure?.problems ?? [])];
  return all.toSorted((one, other) => rank(one) - rank(other));
}

const rank = ({ severity }: ProblemView): number => (severity === 'error' ? 0 : 1);

/** `Ready, but 1 Link is not`. */
export function headlineOf(facts: Facts, status: string | undefined): string {
  return headline(status, listNotReady(facts.objects, facts.at)) ?? 'Unknown';
}

function placeProblems({ notRunning, routers, objects, partial, exposure, historyProblem }: Facts): readonly ProblemView[] {
  // A namespace with exposed objects only does not need a Site.
  const site = objects.some(({ kind }) => kind === 'Site') || (exposure?.listeners ?? []).length > 0;
  return [
    ...(notRunning === undefined ? [] : [problemView('process', 'earshot', 'not running', notRunning, { code: 'not-running' })]),
    ...(site || notRunning !== undefined
      ? []
      : [problemView('Site', '', 'missing', 'The namespace does not have a Site yet.', SITE_ADVICE)]),
    ...routers.flatMap(({ name, why }) => (why === undefined ? [] : [problemView('router', name, 'not ready', why, {}, 'pending')])),
    ...partial.flatMap(({ router, why }) => (router === '' ? [] : [problemView('router', router, 'no answer', why, {})])),
    ...(historyProblem === undefined ? [] : [problemView('console', 'history', 'not saved', historyProblem, HISTORY_ADVICE, 'pending')]),
  ];
}

const HISTORY_ADVICE = { advice: 'Correct that. Until then the history is in memory only, and a restart loses what is not saved.' };

const SITE_ADVICE = { advice: 'Create it with `earshot site create NAME`.' };

function fileProblems({ fileProblems: files }: Facts): readonly ProblemView[] {
  return files.map(({ file, message, severity }) =>
    problemView('file', printable(file, 253), severity, printable(message, 1024), {}, severity === 'error' ? 'error' : 'pending'),
  );
}

/** Links without an answer, before their resource says so. */
function silentLinks({ links, at }: Facts, named: ReadonlySet<string>): readonly ProblemView[] {
  return links.flatMap(({ name, operational, silentSince, problem: found, remoteSiteName = 'the other site' }) => {
    if (named.has(`Link/${name}`) || (operational && silentSince === undefined)) return [];
    const since = new Date(silentSince ?? at).toISOString();
    const [code, message] = [found?.code ?? 'silent', found?.message ?? `${remoteSiteName} no longer answers on this link.`];
    return [problemView('Link', name, silentSince === undefined ? 'down' : 'silent', message, { ...adviceOf(code), code, since })];
  });
}

/** Sites that no longer answer on a link that they opened. No resource of this site shows it until the link ends. */
function silentSites({ incoming, links }: Facts): readonly ProblemView[] {
  const known = new Set(links.filter(({ silentSince }) => silentSince !== undefined).map(({ remoteSiteId }) => remoteSiteId));
  const open = incoming.filter(({ ended }) => ended === undefined);
  // A site that linked here again, or from another router, does answer.
  const answering = new Set(open.flatMap(({ siteId, silentSince }) => (silentSince === undefined ? [siteId] : [])));
  const silent = open.filter(({ siteId }) => !answering.has(siteId) && !known.has(siteId));
  return [...new Map(silent.map((link) => [link.siteId, link])).values()].map(({ siteName, silentSince = 0 }) =>
    problemView('site', siteName, 'silent', `${siteName} no longer answers on its link to this site.`, {
      ...adviceOf('silent'),
      code: 'silent',
      since: new Date(silentSince).toISOString(),
    }),
  );
}

function resourceProblem({ kind, name, status, message }: NotReady, object: SiteObject | undefined, facts: Facts): ProblemView {
  const conditions = conditionsOf(object).filter((condition) => condition.status === 'False');
  const cause = conditions.find((condition) => condition.message === message && condition.type !== 'Ready') ?? conditions[0];
  const code = cause === undefined ? undefined : codeOfReason(cause.reason);
  const since = conditions.map((condition) => condition.since).toSorted()[0];
  return problemView(
    kind,
    name,
    status,
    message === '' ? (cause?.message ?? 'It has not been reconciled yet.') : message,
    {
      ...adviceOf(code),
      ...similarAdvice(code, object, facts),
      ...(code === undefined ? {} : { code }),
      ...(since === undefined ? {} : { since }),
    },
    status === 'Error' ? 'error' : 'pending',
  );
}

/** Asks whether another routing key is meant, if the object's own has no other end. */
function similarAdvice(code: string | undefined, object: SiteObject | undefined, { keys, sites }: Facts): Pick<ProblemView, 'advice'> {
  const side = code === 'no-connector' ? 'connectors' : code === 'no-listener' ? 'listeners' : undefined;
  if (side === undefined || (object?.kind !== 'Listener' && object?.kind !== 'Connector')) return {};
  const names = new Map(sites.map(({ id, name }) => [id, name]));
  const offered = keys.flatMap((entry) => entry[side].map(({ site }) => ({ key: entry.key, site: names.get(site) ?? site })));
  const similar = similarKey(object.spec.routingKey, offered);
  if (similar === undefined) return {};
  const text = similarKeyText(similar);
  return { advice: `${text.charAt(0).toUpperCase()}${text.slice(1)} ${adviceOf(code).advice ?? ''}`.trimEnd() };
}

/** Advice of the catalogue, unless it only refers to the message. */
function adviceOf(code: string | undefined): Pick<ProblemView, 'advice'> {
  const [, , whatToDo = ''] = catalogue.get(code ?? '') ?? [];
  return whatToDo === '' || /^(?:Nothing|See the (?:message|condition)|Follow (?:the|its) message)/.test(whatToDo)
    ? {}
    : { advice: whatToDo };
}

interface WithConditions {
  readonly status?: { readonly conditions?: readonly SomeCondition[] } | null;
}

interface SomeCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export function conditionsOf(object: WithConditions | undefined): readonly ConditionView[] {
  return (object?.status?.conditions ?? []).map(({ type, status, reason, message, lastTransitionTime }) => ({
    type: printable(type, 253),
    status: printable(status, 20),
    reason: printable(reason ?? '', 253),
    message: printable(message ?? '', 1024),
    since: lastTransitionTime ?? '',
  }));
}

function problemView(
  kind: string,
  name: string,
  status: string,
  message: string,
  more: Partial<ProblemView>,
  severity: ProblemView['severity'] = 'error',
): ProblemView {
  return { object: name === '' ? kind : `${kind}/${name}`, kind, name, severity, status, message, ...more };
}
