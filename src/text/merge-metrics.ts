/** Merges metrics of several processes in the text format of Prometheus (pure). */

interface Family {
  /** Process whose description is used. */
  readonly from: string;
  /** Lines `# HELP` and `# TYPE`. */
  readonly about: string[];
  readonly samples: string[];
}

/**
 * Each sample gets the label with the name of its process. A metric that several processes have is described once.
 * @param texts by name of the process; each is the output of the client library
 */
export function mergeMetrics(label: string, texts: ReadonlyMap<string, string>): string {
  const families = new Map<string, Family>();
  for (const [name, text] of texts) {
    const value = `${label}="${name.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`;
    let family: Family | undefined;
    for (const line of text.split('\n')) {
      const [, metric] = /^# (?:HELP|TYPE) (\S+)/.exec(line) ?? [];
      if (metric !== undefined) {
        family = families.getOrInsertComputed(metric, () => ({ from: name, about: [], samples: [] }));
        if (family.from === name) family.about.push(line);
      } else if (line !== '') {
        family?.samples.push(labelled(line, value));
      }
    }
  }
  return [...families.values()].map(({ about, samples }) => [...about, ...samples, ''].join('\n')).join('\n');
}

/** A sample is `name{labels} value`, or `name value`. */
function labelled(sample: string, value: string): string {
  const end = sample.search(/[{ ]/);
  if (end < 0) return sample;
  const [name, rest] = [sample.slice(0, end), sample.slice(end)];
  if (rest.startsWith('{}')) return `${name}{${value}}${rest.slice(2)}`;
  return rest.startsWith('{') ? `${name}{${value},${rest.slice(1)}` : `${name}{${value}}${rest}`;
}
