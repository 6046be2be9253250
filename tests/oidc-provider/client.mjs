// An application that signs a person in with the npm package `openid-client`: authorization code with PKCE.
//
// First line of standard input, JSON: issuer, base (URL of the server), clientId, clientSecret (absent for a
// public client), redirectUri, scope. The answer is {url}, where to send the browser. The second line is the
// redirect URL, answered with {accessToken, scope} or {error}.

import { createInterface } from 'node:readline';
import * as client from 'openid-client';

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { issuer, base, clientId, clientSecret, redirectUri, scope } = JSON.parse((await lines.next()).value);
const server = {
  issuer,
  authorization_endpoint: `${base}/oauth2/authorize`,
  token_endpoint: `${base}/oauth2/token`,
  // Makes the package demand `iss` (RFC 9207).
  authorization_response_iss_parameter_supported: true,
};
const authentication = clientSecret ? client.ClientSecretBasic(clientSecret) : client.None();
const config = new client.Configuration(server, clientId, undefined, authentication);
// The test's server has no TLS.
client.allowInsecureRequests(config);
const pkceCodeVerifier = client.randomPKCECodeVerifier();
const expectedState = client.randomState();
const url = client.buildAuthorizationUrl(config, {
  redirect_uri: redirectUri,
  scope,
  state: expectedState,
  code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
  code_challenge_method: 'S256',
});
console.log(JSON.stringify({ url }));
const callback = new URL((await lines.next()).value);
try {
  const tokens = await client.authorizationCodeGrant(config, callback, { pkceCodeVerifier, expectedState });
  console.log(JSON.stringify({ accessToken: tokens.access_token, scope: tokens.scope }));
} catch (error) {
  console.log(JSON.stringify({ error: error.error ?? error.code ?? error.message }));
}
process.exit();
