import { EarshotError } from '../../../errors/earshot-error.ts';
import { ApiError, isAlreadyExists, isNamespaceTerminating, TransportError } from '../../../kube/errors.ts';
import type { CommandPlace } from '../../../text/command-in.ts';
import { isRecord } from '../../../text/is-record.ts';
import { printable } from '../../../text/printable.ts';

/** Namespace and cluster on which commands work. */
export interface ClusterPlace extends CommandPlace {
  readonly namespace: string;
  /** Description within a sentence, such as `the cluster of context "kind"`. */
  readonly cluster: string;
  /** URL of the API server, if known. */
  readonly server: string | undefined;
}

/** Explains an error of the API server, or of the connection to it, to the user of a command. */
export function explained(error: unknown, place: ClusterPlace): unknown {
  const found =
    error instanceof ApiError ? afterAnswer(error, place) : error instanceof TransportError ? afterSilence(error, place) : undefined;
  if (found === undefined) return error;
  const [code, message] = found;
  // The cause is omitted: its text is part of the message, and a printed chain would repeat it.
  return new EarshotError(code, message);
}

type Explanation = readonly [code: 'failed' | 'usage' | 'exists' | 'not-found', message: string];

function afterAnswer(error: ApiError, { cluster, namespace }: ClusterPlace): Explanation | undefined {
  const { status, reason, statusMessage } = error;
  if (status === 401) {
    return [
      'failed',
      `The API server of ${cluster} does not take your credentials: log in again, or choose another context with --context.`,
    ];
  }
  if (isNamespaceTerminating(error))
    return ['failed', `The namespace ${namespace} is being deleted: wait until it is gone, and make it anew.`];
  if (status === 403) {
    const advice = `whoever keeps the cluster can give you the role "edit" in the namespace ${namespace}, and rights on skupper.io`;
    return ['failed', `You may not do that in ${cluster}: ${statusMessage}. What helps: ${advice}.`];
  }
  if (status === 404 && statusMessage.startsWith('namespaces "')) {
    const advice = `make it with \`kubectl create namespace ${namespace}\`, or give another with -n`;
    return ['not-found', `There is no namespace ${namespace} in ${cluster}: ${advice}.`];
  }
  // The response for an unknown kind contains no Status.
  if (status === 404 && reason === '') {
    const advice = 'install its chart with connection.enabled, or choose another context with --context';
    return ['failed', `Earshot's definitions (skupper.io/v2alpha1) are not installed in ${cluster}: ${advice}.`];
  }
  if (isAlreadyExists(error)) return ['exists', `It exists already in ${cluster}: ${statusMessage}.`];
  if (status === 409) return ['failed', `Somebody else changed it at the same moment (${statusMessage}): look at it, and try again.`];
  if (status === 400 || status === 422) return ['usage', `${capital(cluster)} does not take it: ${statusMessage}.`];
  return ['failed', `The API server of ${cluster} could not do it: ${statusMessage} (${status}). Try again.`];
}

function afterSilence({ code, message, cause }: TransportError, { cluster, server }: ClusterPlace): Explanation | undefined {
  const at = server === undefined ? cluster : `${cluster} (${printable(server, 200)})`;
  const why = isRecord(cause) && typeof cause['code'] === 'string' ? cause['code'] : '';
  if (CERTIFICATE_TROUBLE.test(why)) {
    const advice = "see the cluster's certificate-authority in the kubeconfig, or tls-server-name where it is reached by another name";
    return ['failed', `The certificate of the API server of ${at} cannot be trusted (${why}): ${advice}.`];
  }
  if (CLIENT_CERTIFICATE_TROUBLE.test(why)) {
    return ['failed', `The API server of ${at} refused the TLS connection (${why}): see the client certificate in the kubeconfig.`];
  }
  if (code === 'kube-unreachable' || code === 'kube-timeout' || code === 'kube-cut') {
    const said = why === '' ? printable(message, 300) : why;
    const advice = 'see that the cluster runs and can be reached from here, or choose another context with --context';
    return ['failed', `The API server of ${at} cannot be reached (${said}): ${advice}. For sites of this machine: --platform linux.`];
  }
  return undefined;
}

/** OpenSSL error names, as Node.js reports them. */
const CERTIFICATE_TROUBLE = /SELF_SIGNED|UNABLE_TO_|CERT_|_CERT_ALTNAME_|HOSTNAME_MISMATCH|INVALID_CA/;
const CLIENT_CERTIFICATE_TROUBLE = /^ERR_SSL_/;

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
