-- `mut` is taken out of a line of a real crate, unsaved; the error shows where the variable is changed, six lines below.
vim.cmd.edit(vim.env.TEST_FILE)
local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\n') .. '\n'
end
local function client(name) return vim.lsp.get_clients({ bufnr = 0, name = name })[1] end
wait('both servers', function() return client('rust_analyzer') and client('copydesk') end)
-- Neovim asks for diagnostics after a change only, and rust-analyzer has none until it is ready.
wait('rust-analyzer', function() return vim.g.rust_analyzer_is_ready end)

local ended
vim.api.nvim_create_autocmd('LspProgress', {
  callback = function(args)
    local value = args.data.params.value
    if args.data.client_id == client('copydesk').id and value.kind == 'end' then ended = value end
  end,
})

-- The user breaks a line and does not save. (What the user does next would close the block of undo.)
vim.fn.search([[^    let mut count = 0;$]])
vim.cmd([[substitute/mut //]])
vim.o.undolevels = vim.o.undolevels
local broken = text()

-- The error comes up in the user's own rust-analyzer, and the cursor goes to it.
local found
wait('the diagnostic', function()
  found = vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR })[1]
  return found ~= nil
end)
show('diagnostic', found.message)
vim.api.nvim_win_set_cursor(0, { found.lnum + 1, found.col })

-- The user asks for code actions until copydesk's own rust-analyzer knows of the error too.
local wanted = 'Fix with agent: '
wait('the action', function()
  local params = vim.lsp.util.make_range_params(0, client('copydesk').offset_encoding)
  params.context = { diagnostics = {}, triggerKind = 1 }
  local answer = client('copydesk'):request_sync('textDocument/codeAction', params, 5000, 0)
  for _, action in ipairs(answer and answer.result or {}) do
    if vim.startswith(action.title, wanted) then
      show('title', action.title)
      return true
    end
  end
end)
vim.lsp.buf.code_action({
  filter = function(action) return vim.startswith(action.title, wanted) end,
  apply = true,
})
wait('the fix', function() return text() ~= broken end)
wait('the end of the run', function() return ended end)
show('outcome', ended.message)
show('fixed', text())
show('modified', vim.bo.modified)
wait('the diagnostic to go', function() return #vim.diagnostic.get(0) == 0 end)

vim.cmd.undo()
show('undone', text() == broken)
show('broken', broken)
