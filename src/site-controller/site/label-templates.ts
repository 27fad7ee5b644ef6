/** Labels and annotations that users add to the objects of sites. They come from ConfigMaps that bear a special label. */
import { annotation, label, ROUTER, SECOND_ROUTER } from '../../api/skupper/cluster-names.ts';
import type { ConfigMap, KubeObject, ObjectMeta, StringMap } from '../../kube/objects.ts';
import { configMaps, secrets } from '../../kube/resource.ts';
import { parseSelector, selects, type LabelSelector } from '../../site/plan/label-selector.ts';
import { warningIn, type ResourceProblem } from '../../site/problem.ts';
import { keyOf } from '../../site/resources.ts';
import { quoted } from '../../text/printable.ts';
import type { NamespaceView } from '../namespace-view.ts';
import { runToEnd, type Sliced } from '../../limits/sliced.ts';
import type { DesiredObject, DesiredState } from '../desired-state.ts';
import { isOurs } from './own-objects.ts';
import { limitTable } from '../../limits/table.ts';

/** Maximum number of effective templates of one namespace: each is compared with each object. */
const MOST_TEMPLATES = limitTable.labelTemplates.value;

/** Maximum number of characters in the selector and the excluded keys of a template. Each version is parsed in one piece. */
const MOST_CHARACTERS = 8_192;

/** Keys of a template that are read. */
export const TEMPLATE_KEYS = ['name', 'kind', 'labelSelector', 'exclude'] as const;

/** Labels and annotations that templates add to an object of a kind. */
type Templates = (kind: string, metadata: ObjectMeta) => { readonly labels: StringMap; readonly annotations: StringMap };

/** Applied last, to the desired objects of all rules. Server-side apply removes what no template asks for any longer. */
export function withTemplates(view: NamespaceView, desired: DesiredState): DesiredState {
  return runToEnd(templateSteps(view, desired));
}

export function* templateSteps(view: NamespaceView, desired: DesiredState): Sliced<DesiredState> {
  const { templates, problems } = readTemplates(view);
  const more = templatesOf(templates);
  const objects: DesiredObject[] = [];
  for (const item of desired.objects) {
    objects.push({ ...item, object: decorated(item.of.kind, item.object, more) });
    yield;
  }
  objects.push(...(yield* onSecrets(view, more)));
  return { ...desired, objects, problems: [...desired.problems, ...problems] };
}

/** Others write the content of the site's Secrets. These desired objects contain only what templates add. */
function* onSecrets({ site, list }: NamespaceView, templates: Templates): Sliced<readonly DesiredObject[]> {
  if (site === undefined) return [];
  const desired: DesiredObject[] = [];
  for (const { metadata } of list(secrets)) {
    yield;
    if (!isOurs({ metadata })) continue;
    const { name, uid, annotations = {} } = metadata;
    const more = templates('Secret', metadata);
    const isBare = Object.keys(more.labels).length + Object.keys(more.annotations).length === 0;
    // A Secret that had template labels before must lose them.
    if (isBare && annotations[annotation.applied] === undefined) continue;
    // The UID keeps apply from creating the Secret.
    const object = { apiVersion: 'v1', kind: 'Secret', metadata: { name, uid, ...more } } as KubeObject;
    desired.push({ of: secrets, object, for: keyOf(site) });
  }
  return desired;
}

const KINDS: ReadonlySet<string> = new Set(
  ['Deployment', 'Service', 'ConfigMap', 'Secret', 'Certificate', 'SecuredAccess', 'Route', 'Ingress', 'HTTPProxy', 'TLSRoute'].map(folded),
);

interface Template {
  readonly name: string;
  /** Case-folded; matches any kind if empty. */
  readonly kind: string;
  readonly selector: LabelSelector;
  readonly labels: StringMap;
  readonly annotations: StringMap;
  /** Keys that are not copied because other controllers write them. */
  readonly managed: readonly string[];
}

function templatesOf(templates: readonly Template[]): Templates {
  return (kind, { name = '', labels = {} }) => {
    const matching = KINDS.has(folded(kind)) ? templates.filter((template) => isFor(template, folded(kind), name, labels)) : [];
    return {
      labels: Object.assign({}, ...matching.map((template) => template.labels)) as StringMap,
      annotations: Object.assign({}, ...matching.map((template) => template.annotations)) as StringMap,
    };
  };
}

/** The object's own labels and annotations win: it is found by them. */
function decorated<T extends KubeObject>(kind: string, object: T, templates: Templates): T {
  const { metadata } = object;
  const { labels, annotations } = templates(kind, metadata);
  if (Object.keys(labels).length + Object.keys(annotations).length === 0) return object;
  return {
    ...object,
    metadata: { ...metadata, labels: { ...labels, ...metadata.labels }, annotations: { ...annotations, ...metadata.annotations } },
  };
}

function isFor(template: Template, kind: string, name: string, labels: StringMap): boolean {
  if (template.kind !== '' && template.kind !== kind) return false;
  // To users, the second router is the same object as the first.
  if (template.name !== '' && template.name !== name && !(template.name === ROUTER && name === SECOND_ROUTER)) return false;
  return selects(template.selector, labels);
}

/**
 * Templates of the controller's namespace come last, because the last one wins. Sorted by name, so that the order does not depend on the
 * start of the controller.
 */
function readTemplates(view: NamespaceView): { readonly templates: readonly Template[]; readonly problems: readonly ResourceProblem[] } {
  const { site, namespace, settings } = view;
  const own = templatesIn(view.list(configMaps));
  const shared = namespace === settings.namespace ? [] : templatesIn(view.elsewhere(configMaps, settings.namespace));
  const templates: Template[] = [];
  const problems: ResourceProblem[] = [];
  if (own.length > MOST_TEMPLATES && site !== undefined) {
    const message = `the namespace has ${own.length} label templates, and the first ${MOST_TEMPLATES} by name have effect; delete some.`;
    problems.push(warningIn(keyOf(site), 'metadata', 'too-many', message));
  }
  for (const configMap of [...own.slice(0, MOST_TEMPLATES), ...shared.slice(0, MOST_TEMPLATES)]) {
    const template = parsed.getOrInsertComputed(configMap, () => readTemplate(configMap));
    if (!('wrong' in template)) {
      templates.push(template);
      const [first] = template.managed;
      if (site === undefined || first === undefined) continue;
      const message = `the label template ${configMap.metadata.name} does not copy ${quoted(first)}: other controllers write it; list it in exclude.`;
      problems.push(warningIn(keyOf(site), 'metadata', 'bad-argument', message));
    } else if (site !== undefined) {
      const message = `the label template ${configMap.metadata.name} has no effect: its ${template.wrong}.`;
      problems.push(warningIn(keyOf(site), 'metadata', 'selector', message));
    }
  }
  return { templates, problems };
}

/** Caches the parsed form of each version of a template. */
const parsed = new WeakMap<ConfigMap, ReturnType<typeof readTemplate>>();

/** Sorted by name. */
function templatesIn(objects: readonly ConfigMap[]): readonly ConfigMap[] {
  const nameOf = ({ metadata }: ConfigMap): string => metadata.name ?? '';
  const found = objects.filter(({ metadata }) => metadata.labels?.[label.labelTemplate] !== undefined);
  return found.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
}

function readTemplate({ metadata, data = {} }: ConfigMap): Template | { readonly wrong: string } {
  const { name = '', kind = '', labelSelector = '', exclude = '' } = data;
  if (labelSelector.length + exclude.length > MOST_CHARACTERS) {
    return { wrong: `labelSelector and exclude have more than ${MOST_CHARACTERS} characters` };
  }
  const selector = parseSelector(labelSelector);
  if ('wrong' in selector) return { wrong: `labelSelector ${selector.wrong}` };
  const excluded = new Set(exclude.split(',').map((key) => key.trim()));
  const kept = (from: StringMap = {}): StringMap =>
    Object.fromEntries(Object.entries(from).filter(([key]) => !excluded.has(key) && !OURS.test(key) && !isManaged(key)));
  const managed = [...Object.keys(metadata.labels ?? {}), ...Object.keys(metadata.annotations ?? {})].filter(
    (key) => key !== NOTED && !excluded.has(key) && isManaged(key) && !OURS.test(key),
  );
  return {
    name: name.trim(),
    kind: folded(kind.trim()),
    selector: selector.selector,
    labels: kept(metadata.labels),
    annotations: kept(metadata.annotations),
    managed,
  };
}

/** Keys by which a controller recognizes its own objects. */
const OURS = /^(?:(?:[^/]*\.)?skupper\.io\/.*|earshot\/.*)$/;

/**
 * Domains whose keys other controllers and tools write on the objects that they manage, such as `deployment.kubernetes.io/revision`. If
 * copied, two writers would overwrite them forever.
 */
const MANAGED = /^(?:[^/]*\.)?(?:kubernetes\.io|k8s\.io|stackable\.tech|argoproj\.io|fluxcd\.io|helm\.sh|cattle\.io)\//;
/** Exceptions: keys that users write for controllers to read. */
const SETTINGS =
  /^(?:app|service(?:\.(?:alpha|beta))?|(?:[^/]*\.)?ingress|external-dns\.alpha|cluster-autoscaler|networking\.gke|cloud\.google)\.(?:kubernetes|k8s)\.io\//;

/** kubectl writes it on everything that it applies, so leaving it out needs no report. */
const NOTED = 'kubectl.kubernetes.io/last-applied-configuration';

function isManaged(key: string): boolean {
  return MANAGED.test(key) && !SETTINGS.test(key);
}

function folded(kind: string): string {
  return kind.toLowerCase();
}
