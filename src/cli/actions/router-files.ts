/** Files of `debug dump` with the answers of a site's routers, on any platform. */
import { NotReadable } from '../../errors/not-readable.ts';
import type { AskableRouters } from '../../platform/resources.ts';
import { messageOf } from '../../telemetry/log.ts';
import { writeYaml } from '../../text/write-yaml.ts';
import type { ArchiveFile } from '../output/tar.ts';

const VIEWS = ['self', 'network', 'links', 'keys'] as const;

/** A view that a router does not answer has the problem in its file. @throws NotReadable without a right, Error if the routers are unknown */
export async function routerFiles(routers: AskableRouters): Promise<readonly ArchiveFile[]> {
  const names = await routers.names();
  return Promise.all(
    names.flatMap((router) =>
      VIEWS.map(async (view): Promise<ArchiveFile> => {
        const answer = await routers.ask(router, `/v1/${view}`).catch((error: unknown) => {
          if (error instanceof NotReadable) throw error;
          return { problem: messageOf(error) };
        });
        return { path: `routers/${router}/${view}.yaml`, content: writeYaml(answer) };
      }),
    ),
  );
}
