/** SLSA provenance 1.0 in an in-toto statement 1.0 (https://slsa.dev/spec/v1.0/provenance): from which commit the files were built, and how. */

export interface Built {
  readonly version: string;
  readonly commit: string;
  /** SHA-256 in hexadecimal, by file name. */
  readonly sums: ReadonlyMap<string, string>;
  /** The container image, by which a registry knows it: `sha256:…` of its manifest or index. */
  readonly image: { readonly name: string; readonly digest: string };
  /** Versions of the tools that decide the bytes, such as Node.js and esbuild. */
  readonly tools: Readonly<Record<string, string>>;
  readonly repository: string;
}

export function provenanceStatement({ version, commit, sums, image, tools, repository }: Built): string {
  return `${JSON.stringify(
    {
      _type: 'https://in-toto.io/Statement/v1',
      subject: [...sums, [image.name, image.digest.replace('sha256:', '')] as const].map(([name, sha256]) => ({
        name,
        digest: { sha256 },
      })),
      predicateType: 'https://slsa.dev/provenance/v1',
      predicate: {
        buildDefinition: {
          buildType: `${repository}/blob/main/RELEASE.md`,
          externalParameters: { target: 'make dist', version },
          resolvedDependencies: [{ uri: `git+${repository}`, digest: { gitCommit: commit } }],
        },
        runDetails: { builder: { id: `${repository}/blob/main/scripts/dist.ts`, version: tools } },
      },
    },
    undefined,
    2,
  )}\n`;
}
