/** CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/): contents of a file of the release. */
import type { BundledPackage } from '../bundle.ts';

export interface Contents {
  readonly name: string;
  readonly version: string;
  readonly commit: string;
  readonly date: Date;
  /** Packages of npm within the program. */
  readonly packages: readonly BundledPackage[];
  /** Version of Node.js, such as `26.10.0`. */
  readonly node: string;
  /** Debian packages of an image. */
  readonly debian: readonly { readonly name: string; readonly version: string; readonly architecture: string }[];
}

export function billOfMaterials({ name, version, commit, date, packages, node, debian }: Contents): string {
  const npm = packages.map((one) => ({
    type: 'library',
    name: one.name,
    version: one.version,
    licenses: [{ expression: one.license }],
    purl: `pkg:npm/${one.name.replace('@', '%40')}@${one.version}`,
  }));
  const system = debian.map((one) => ({
    type: 'library',
    name: one.name,
    version: one.version,
    purl: `pkg:deb/debian/${one.name}@${encodeURIComponent(one.version)}?arch=${one.architecture}`,
  }));
  const runtime = {
    type: 'platform',
    name: 'node',
    version: node,
    licenses: [{ expression: 'MIT' }],
    purl: `pkg:generic/node@${node}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${node}:*:*:*:*:*:*:*`,
  };
  return document({ name, version, commit, date }, [runtime, ...npm, ...system]);
}

export interface ChartContents extends Pick<Contents, 'version' | 'commit' | 'date'> {
  /** Image that the chart runs; `digest` is `sha256:…`. */
  readonly image: { readonly repository: string; readonly digest: string };
}

/** A chart contains no programs, but runs an image, which has a list of its own. */
export function chartMaterials({ version, commit, date, image }: ChartContents): string {
  const name = image.repository.slice(image.repository.lastIndexOf('/') + 1);
  const purl = `pkg:oci/${name}@${encodeURIComponent(image.digest)}?repository_url=${encodeURIComponent(image.repository)}&tag=${version}`;
  const hashes = [{ alg: 'SHA-256', content: image.digest.replace('sha256:', '') }];
  return document({ name: 'earshot (chart)', version, commit, date }, [
    { type: 'container', name: image.repository, version, hashes, purl },
  ]);
}

function document(
  { name, version, commit, date }: Pick<Contents, 'name' | 'version' | 'commit' | 'date'>,
  components: readonly object[],
): string {
  return `${JSON.stringify(
    {
      bomFormat: 'CycloneDX',
      specVersion: '1.6',
      version: 1,
      metadata: {
        timestamp: date.toISOString(),
        component: {
          type: 'application',
          name,
          version,
          licenses: [{ expression: 'Apache-2.0' }],
          properties: [{ name: 'earshot:commit', value: commit }],
        },
      },
      components,
    },
    undefined,
    2,
  )}\n`;
}
