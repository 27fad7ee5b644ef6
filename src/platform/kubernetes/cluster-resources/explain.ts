import { EarshotError } from '../../../errors/earshot-error.ts';
import { ForbiddenError } from '../../../errors/forbidden-error.ts';
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
  if (error instanceof ApiError && error.status === 403) return new ForbiddenError(code, message);
  // The cause is omitted: its text is part of the message, and a printed chain would repeat it.
  return new EarshotError(code, message);
}

type Explanation = readonly [code: 'failed' | 'usage' | 'exists' | 'not-found', message: string];

function afterAnswer(error: ApiError, { cluster, namespace }: ClusterPlace): Explanation | undefined {
  const { status, reason, statusMessage } = error;
  if (status === 401) {
    return ['failed', `The API server of ${cluster} rejects your credentials: log in again, or choose another context with --context.`];
  }
  if (isNamespaceTerminating(error))
    return ['failed', `The namespace ${namespace} is being deleted: wait for the end of the deletion, and create it again.`];
  if (status === 403) {
    const advice = `ask an administrator of the cluster for the role "edit" in the namespace ${namespace}, and for rights on skupper.io`;
    return ['failed', `Forbidden in ${cluster}: ${statusMessage}. To continue, ${advice}.`];
  }
  if (status === 404 && statusMessage.startsWith('namespaces "')) {
    const advice = `create it with \`kubectl create namespace ${namespace}\`, or select another with -n`;
    return ['not-found', `The namespace ${namespace} does not exist in ${cluster}: ${advice}.`];
  }
  // The response for an unknown kind contains no Status.
  if (status === 404 && reason === '') {
    const advice = "install Earshot's chart with connection.enabled, or choose another context with --context";
    const other = 'For exposed pods, use `earshot check`';
    return ['failed', `The connection half's definitions (skupper.io/v2alpha1) are not installed in ${cluster}: ${advice}. ${other}.`];
  }
  if (isAlreadyExists(error)) return ['exists', `The object already exists in ${cluster}: ${statusMessage}.`];
  if (status === 409) return ['failed', `Another client changed the object at the same time (${statusMessage}): review it, and try again.`];
  if (status === 400 || status === 422) return ['usage', `${capital(cluster)} rejects the object: ${statusMessage}.`];
  return ['failed', `The API server of ${cluster} failed: ${statusMessage} (${status}). Try again.`];
}

function afterSilence({ code, message, cause }: TransportError, { cluster, server }: ClusterPlace): Explanation | undefined {
  const at = server === undefined ? cluster : `${cluster} (${printable(server, 200)})`;
  const why = isRecord(cause) && typeof cause['code'] === 'string' ? cause['code'] : '';
  if (CERTIFICATE_PROBLEM.test(why)) {
    const advice =
      'check certificate-authority of the cluster in the kubeconfig, or set tls-server-name if its certificate has another name';
    return ['failed', `The certificate of the API server of ${at} cannot be trusted (${why}): ${advice}.`];
  }
  if (CLIENT_CERTIFICATE_PROBLEM.test(why)) {
    return ['failed', `The API server of ${at} refused the TLS connection (${why}): check the client certificate in the kubeconfig.`];
  }
  if (code === 'kube-unreachable' || code === 'kube-timeout' || code === 'kube-cut') {
    const said = why === '' ? printable(message, 300) : why;
    const advice = 'check that the cluster runs and is reachable from here, or choose another context with --context';
    return ['failed', `The API server of ${at} is unreachable (${said}): ${advice}. For sites of this machine, use --platform linux.`];
  }
  return undefined;
}

/** OpenSSL error names, as Node.js reports them. */
const CERTIFICATE_PROBLEM = /SELF_SIGNED|UNABLE_TO_|CERT_|_CERT_ALTNAME_|HOSTNAME_MISMATCH|INVALID_CA/;
const CLIENT_CERTIFICATE_PROBLEM = /^ERR_SSL_/;

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
